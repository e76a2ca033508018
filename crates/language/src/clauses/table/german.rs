//! The table of German words for the clause rules.

use super::Words;

pub(super) static WORDS: Words = Words {
    verbs: "öffnen schließen lesen schreiben suchen finden zeigen sagen nennen erklären listen legen machen \
            setzen stellen ändern löschen fernen fügen schieben speichern senden schicken holen laden starten \
            stoppen beenden führen testen prüfen bauen gleichen rechnen zählen leeren fassen arbeiten sammeln \
            ordnen teilen binden trennen packen drucken geben tragen planen erinnern buchen kaufen spielen \
            schalten wandeln räumen reinigen sichern schlüsseln wenden nehmen bringen hängen wählen antworten \
            rufen fragen melden mitteln stimmen heben bessern leiten richten schneiden ziehen tippen zeugen \
            werfen bilden bereiten kürzen wechseln merken tauschen drehen lösen zeichnen füllen gehen warten \
            fahren schauen sehen halten klicken checken gucken",
    imperatives: "lies gib nimm sieh wirf",
    endings: &[("eln", &["le", "el", "ele"]), ("ern", &["ere", "er", "re"]), ("en", &["e", ""])],
    prefixes: "ab an auf aus be durch ein ent er fest frei her hervor hin hinter hoch los mit nach über um unter ver vor weg weiter wieder \
               zer zu zurück zusammen",
    imperative_endings: "iere ier",
    object_endings: "e",
    infinitive_endings: "ieren",
    noun_endings: "",
    last_endings: "en eln ern",
    wish_endings: &["st", "t"],
    told_endings: "",
    meets: "findest, siehst, bekommst, kriegst, erhältst, landest",
    clitics: "",
    polite_endings: "",
    formal: "sie",
    verb_last: true,
    noun_capitals: true,
    not_verbs: "habe, hätte, würde, möchte, könnte, sollte, heute, gerne, alle, viele, einige, beide, ohne, hier, morgen, gestern, neuen, \
                alten, oben, unten",
    joins: "und, sowie, &",
    sequence: "dann, danach, anschließend, zum schluss, zuletzt, zuerst, erst, zunächst, erstens, zweitens, drittens, schließlich, \
               abschließend, am ende, am schluss, daraufhin, hinterher, später, als erstes, als nächstes, als letztes, im anschluss, \
               im anschluss daran, nun",
    additions: "auch, noch, außerdem, zusätzlich, zudem, ebenfalls, sofort, gleich, direkt, jetzt, so",
    leads: "bitte, könntest du, kannst du, würdest du, magst du, können sie, könnten sie, würden sie, ich muss, wir müssen, wir sollten, \
            du sollst, du musst, du kannst, lass uns, hilf mir, \
            wärst du so nett, wären sie so nett, denk daran, es wäre schön, vergiss nicht, mal, doch, einfach, mir, hallo, hi, danke, \
            guten tag, guten morgen",
    wants: "ich möchte, ich will, ich würde gern, ich würde gerne, ich hätte gern, ich brauche",
    wishes: "dass du, wenn du, dass sie, wenn sie",
    subordinators: "wenn, falls, sobald, nachdem, bevor, während, weil, da, dass, damit, ob, um, obwohl",
    conditions: "wenn, falls",
    purposes: "um, damit",
    doers: "",
    questions: "was, wer, wie, wo, wann, warum, wieso, welche, welcher, welches, welchen, wohin, woher",
    negations: "",
    determiners: "mich, mir, uns, ihn, ihm, ihnen, alles, die, das, den, ein, eine, einen, mein, meine, meinen, unser, unsere, jede, jeden, \
                  diese, diesen, dieses, kein, keine",
    prepositions: "in, im, ins, an, am, auf, aus, bei, für, mit, nach, von, vom, zu, zum, zur, unter, über, bis, ab, vor",
    subjects: "der, ich, er, sie, es, wir, ihr, man",
    addressees: "du, ihr",
    objects: "",
    before_infinitive: "zu",
    finite: "ist, sind, war, waren, hat, haben, hatte, wird, werden, wurde, wurden, kann, können, soll, sollen, muss, müssen, könntest, \
             würdest, könnten, würden",
    back: "er, sie, es, ihn, ihm, ihnen, davon, darin, daraus, dazu, dorthin, dort, diese, dieses, ergebnis, ergebnisse",
    tells: "sagen, nennen, erklären, beschreiben, mitteilen, antworten",
    shows: "zeigen, geben, ausgeben, gib",
    looks: "lesen, lies, öffnen, suchen, durchsuchen, finden, prüfen, zählen, vergleichen, zeigen",
    does: "machen, erledigen",
    following: "folgende, folgendes, folgenden, diese",
};
