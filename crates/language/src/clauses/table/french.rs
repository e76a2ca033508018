//! The table of French words for the clause rules.

use super::Words;

pub(super) static WORDS: Words = Words {
    verbs: "ouvrir lire écrire chercher trouver afficher montrer envoyer créer ajouter supprimer copier coller \
            placer nommer enregistrer sauvegarder lancer exécuter démarrer arrêter vérifier tester comparer \
            compter calculer résumer analyser extraire convertir traduire charger installer mettre modifier \
            changer remplacer corriger trier lister noter expliquer donner indiquer préparer rédiger rappeler \
            activer régler fermer dire faire prendre rendre répondre joindre imprimer chiffrer exporter importer \
            transférer transcrire générer voir décrire réduire programmer éteindre passer inviter demander \
            choisir remplir tuer",
    imperatives: "ouvre mets mettez dis dites fais faites prends joins envoie lisez vois voyez préviens prévois \
                  extrayez éteins va allez obtiens",
    endings: &[
        ("érer", &["ère", "érez"]),
        ("eler", &["elle", "elez"]),
        ("ever", &["ève", "evez"]),
        ("er", &["e", "ez"]),
        ("ir", &["is", "issez"]),
        ("re", &["s", "ez"]),
    ],
    prefixes: "re ré dé dés r",
    imperative_endings: "ez -le -la -les -moi -nous -lui -leur -en -y",
    object_endings: "e is",
    infinitive_endings: "er ir",
    noun_endings: "ssier rrier apier drier vrier nier mier vier chier tier elier alier ulier oir",
    last_endings: "",
    wish_endings: &["s"],
    told_endings: "",
    meets: "trouves, trouvez, vois, voyez, obtiens, obtenez, reçois, recevez",
    clitics: "-le -la -les -moi -nous -lui -leur -en -y -m'en",
    polite_endings: "",
    formal: "",
    verb_last: false,
    noun_capitals: false,
    not_verbs: "assez, chez, avez, avoir, existe, manque, reste, même, comme, autre, entre, contre, être, danger, hiver",
    joins: "et, &, ainsi que",
    sequence: "puis, ensuite, après, après cela, après ça, après quoi, enfin, finalement, d'abord, tout d'abord, pour finir, pour commencer, \
               pour terminer, en dernier, en dernier lieu, premièrement, deuxièmement, troisièmement, par la suite, à la fin, \
               dans un premier temps, dans un second temps, une fois fait",
    additions: "aussi, également, alors, de plus, en outre, encore, aussitôt, immédiatement, tout de suite, maintenant",
    leads: "peux-tu, pourrais-tu, pouvez-vous, pourriez-vous, veux-tu, tu peux, vous pouvez, tu pourrais, vous pourriez, est-ce que, veuillez, \
            merci, s'il te plaît, s'il vous plaît, stp, svp, je dois, il faut, \
            il faudrait, nous devons, tu dois, aide-moi, aidez-moi, n'oublie pas, n'oubliez pas, bonjour, salut, pense, pensez, \
            aurais-tu la gentillesse, auriez-vous la gentillesse, ce serait bien, si tu pouvais, si vous pouviez",
    wants: "je voudrais, j'aimerais, je veux, je souhaite, j'ai besoin, il me faut",
    wishes: "que tu, que vous",
    subordinators: "si, sinon, s'il, s'ils, quand, lorsque, dès que, une fois que, après que, après avoir, avant de, avant que, pour que, \
                    afin que, afin de, \
                    parce que, car, puisque, que, qui, dont",
    conditions: "si, s'il, s'ils, sinon",
    purposes: "pour, afin de",
    doers: "script, programme, fonction, commande, outil, classe, méthode, application",
    questions: "quel, quelle, quels, quelles, où, quand, comment, pourquoi, combien, qui, que, qu'est-ce, est-ce",
    negations: "ne, n'",
    determiners: "le, la, les, l', un, une, mon, ma, mes, ton, ta, tes, son, sa, ses, notre, nos, votre, vos, ce, cet, cette, ces, tout, toute, \
                  tous, toutes, chaque, deux, ceux, celui, celle, celles",
    prepositions: "dans, en, sur, sous, à, au, aux, pour, par, avec, sans, de, du, des, depuis, vers, selon",
    subjects: "je, j', tu, il, elle, on, ils, elles, c', cela, ça",
    addressees: "tu, vous",
    objects: "me, m', te, t', se, s', nous, vous, lui, leur, y, en, le, la, les, l'",
    before_infinitive: "de, d', à, tout",
    finite: "est, sont, était, a, ont, peut, doit, voici, mais",
    back: "il, elle, ils, elles, cela, ça, ceci, celui-ci, eux, résultat, résultats",
    tells: "dire, dis, dites, expliquer, indiquer, décrire, répondre",
    shows: "montrer, afficher, donner",
    looks: "lire, lisez, ouvrir, ouvre, chercher, trouver, vérifier, compter, comparer, analyser, afficher",
    does: "faire, fais, faites",
    following: "suivant, suivants, suivante, suivantes, ces",
};
