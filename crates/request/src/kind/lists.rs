//! Words that determine the kind of a step, in the languages with rules.

/// Verbs of clauses that change something, and of clauses that run something.
pub(crate) const CHANGING: &str = "\
    add change set replace rename fix write create delete remove update edit move insert bump refactor rewrite \
    implement append convert make increase decrease reduce upgrade downgrade copy correct modify format save \
    generate extract split merge migrate revert drop introduce simplify document translate enable disable clean \
    reset apply extend improve optimize optimise port raise lower swap wrap inline draft put store fill schedule \
    book send добавь измени замени переименуй исправь удали создай обнови напиши перемести скопируй сохрани поменяй \
    перепиши убери";
pub(crate) const RUNNING: &str = "\
    run execute build compile test deploy start stop restart launch install lint benchmark commit push pull rebuild \
    rerun kill open play запусти выполни останови установи перезапусти собери";

/// Words that ask for a change anywhere in a text, and words that do so only at its beginning.
pub(crate) const ORDERS: &str = "\
    add fix change set make write create implement remove delete update replace need needs want wants repair should \
    must note mention bump put document insert append soll sollen sollte sollten muss müssen füge ändere \
    behebe setze ersetze erhöhe erstelle schreibe entferne braucht brauche möchte ajoute corrige passe mets \
    remplace modifie supprime voudrais añade cambia arregla sustituye elimina necesito quiero добавь исправь замени \
    измени удали";
/// Words of orders that only ask for a repair.
pub(crate) const MENDING: &str = "\
    fix make repair correct need needs want wants should must soll sollen sollte muss müssen behebe corrige arregla \
    исправь";
pub(crate) const OPENING_ORDERS: &str = "\
    accept allow apply avoid convert disable disallow emit enable escape expand expose extend forbid handle halve \
    ignore improve increase keep lower make normalise normalize permit prefer quote raise reduce refactor refuse \
    reject require shorten simplify skip strip support swap throw treat trim turn unify use validate warn wrap let \
    akzeptiere behandle benutze erlaube ignoriere lass nutze unterstütze verwende accepte autorise permets traite \
    utilise acepta admite ignora permite trata usa";

/// Verbs that change or remove existing things, and words that create something.
pub(crate) const CHANGES: &str = "\
    change replace set rename remove delete erase increase decrease bump raise lower reduce fix swap update modify edit substitute \
    correct toggle enable disable turn switch adjust comment uncomment strip drop double halve invert upgrade downgrade ändere ersetze \
    setze erhöhe entferne lösche behebe korrigiere remplace modifie corrige supprime augmente cambia reemplaza sustituye corrige \
    elimina quita измени замени исправь удали убери поменяй переименуй установи увеличь уменьши";
pub(crate) const MAKES: &str = "\
    create write generate add make save draft document put store copy extract split translate export import insert append prepend new erstelle \
    schreibe füge crée écris ajoute crea escribe añade создай напиши добавь";
/// Verbs of removal, and further words for removal: other words that ask for it, words for dropping
/// or replacing something, and words that allow text or code to be shortened.
pub(crate) const REMOVE: &str = "remove delete drop strip entferne lösche supprime elimina удали убери";
pub(crate) const REMOVALS: &str = "rid unused obsolete entfernen löschen enlève retire quita borra";
pub(crate) const GIVES_WAY: &str = "\
    removes removed removing deleted deleting erase drops dropped dropping rid replace replaced replacing instead longer without uninstall unset \
    omit clear move rename switch swap migrate entfernt löschen ersetze ersetzt statt remplace enlève quita reemplaza sustituye замени вместо";
pub(crate) const SHORTENS: &str = "\
    omit simplify refactor shorten rewrite reduce unused inline merge clean vereinfache simplifie simplifica упрости";
/// Words before the verb of a request: `In the file F, please change …`.
pub(crate) const BEFORE_VERB: &str = "in inside within of the file my our please can could you would now then also and just dans im en der datei в файле";

/// Words that ask a question, and words that express a wish for information.
pub(crate) const QUESTIONS: &str = "\
    what which where how who when why whats wheres whos hows tell explain show describe erkläre sag zeig explique \
    dime explica muestra summarise summarize whose was warum welcher welches wann wer wie wo welche qué cuál quién \
    cuándo cuántos cómo dónde quel quelle quels quelles pourquoi comment где кто почему";
pub(crate) const KNOW: &str = "know understand wonder curious wissen verstehen saber savoir entender comprendre узнать";

/// Words that report a problem, words that ask to look at something, and words for commands.
pub(crate) const REPORTS: &str = "\
    gives returns prints yields crashes throws raises hangs loses drops ignores forgets wrong bug broken incorrect \
    incorrectly instead supposed gibt liefert falsch kaputt renvoie devuelve возвращает";
pub(crate) const LOOKS: &str = "list find search read count look print give compare thanks";
pub(crate) const COMMANDS: &str = "\
    run runs execute start launch build compile lint format install check test tests testing commit führe starte \
    teste lance exécute ejecuta запусти";

/// Words that ask how a run ended, and words for its output.
pub(crate) const ENDED: &str = "\
    pass passed passes passing fail fails failed failing failure failures green red succeed succeeded bestanden grün \
    schlagen échoué réussi pasan fallan";
pub(crate) const PRINTED: &str =
    "output outcome result results exit printed prints ausgabe ergebnis sortie résultat salida resultado";

/// Beginnings of orders in the form of a question.
pub(crate) const POLITE: &str = "can you|could you|would you|will you|can we have|could we have|can we get|could we get|can i have|\
    kannst du|könntest du|können wir|peux-tu|pourrais-tu|peut-on|puedes|podrías|podemos|можешь";
