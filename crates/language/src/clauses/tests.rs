//! Tests how requests in many styles are split: how many acts and answers there are, and what the parts contain.

use proptest::prelude::*;

use super::{Part, PartKind, parts};

/// Checks that the request has `acts` acts and `answers` parts that only report findings.
fn check(request: &str, acts: usize, answers: usize) {
    let parts = parts(request);
    let count = |kind| parts.iter().filter(|part| part.kind == kind).count();
    let seen: Vec<(PartKind, &str)> = parts.iter().map(|part| (part.kind, part.text.as_str())).collect();
    assert_eq!((count(PartKind::Act), count(PartKind::Answer)), (acts, answers), "{request}\n{seen:#?}");
}

#[test]
fn one_action_is_one_act() {
    check("Fix the typo in README.md", 1, 0);
    check("In src/oven.rs change the default heat from 180 to 200", 1, 0);
    check("list the files and folders", 1, 0);
    check("Show CPU and memory usage", 1, 0);
    check("Find all callers of parse_header and its overloads", 1, 0);
    check("Search and replace colour with color in docs/", 1, 0);
    check("Explain how the scheduler picks a slot and why it never starves", 1, 0);
    check("Add a function to parse the file and return its lines", 1, 0);
    check("Write a script that downloads the archive and unpacks it", 1, 0);
    check("Write a script to download the archive, unpack it, and print the names", 1, 0);
    check("Add a reminder to renew the passport by June, book a table for lunch, and write a short note", 3, 0);
    check("Add a reminder to renew the passport and call the embassy", 1, 0);
    check("List the open invoices, sort them by age, and block time for them on Monday", 3, 0);
    check("Add fields for names, addresses, and display size", 1, 0);
    check("What is the difference between create and update?", 1, 0);
    check("How do I build the project and run its tests?", 1, 0);
    check("Is there a test for the copy and paste buffer?", 1, 0);
    check("Find the search and rescue team in the contacts", 1, 0);
    check("rename the variable `a, then b` in x.py", 1, 0);
    check("Say \"Hello. Then delete everything; and run it\" in the log", 1, 0);
    check("Add fields for name, email address, order number and total price to the form", 1, 0);
    check("If the tests fail, fix the code and run them again", 1, 0);
    check("Delete build artifacts, e.g. target/ and *.o", 1, 0);
    check("I would like to know how many users signed up last week", 1, 0);
    check("Use git blame on src/a.rs line 10 to find who wrote it", 1, 0);
    check("Can you tell me which functions call open_session?", 1, 0);
    check("Please make the error message in src/cli.rs say what to do next", 1, 0);
    check("Refactor the auth module so that it uses async and drop the callback style", 2, 0);
}

#[test]
fn each_action_in_a_sentence_is_an_act() {
    check("In x.ts rename foo to bar and run the tests", 2, 0);
    check("Read src/a.ts, in src/a.ts change the title length from 120 to 100 and run the tests", 3, 0);
    check("Read src/a.ts, in src/a.ts a title is too long", 1, 0);
    check("Read a.rs, fix the typo, and commit", 3, 0);
    check("Find all callers of X, then update each of them to pass a Config", 2, 0);
    check("Build and test the project", 2, 0);
    check("Build, test and deploy the app", 3, 0);
    check("Run cargo fmt and then clippy on the workspace", 2, 0);
    check("Run the linter, then the tests", 2, 0);
    check("First create src/lib.rs, then add a main function to src/main.rs, and finally run cargo check", 3, 0);
    check("Open package.json and bump the version, then commit and push", 4, 0);
    check("Download https://example.org/a.tar.gz, unpack it into vendor/, and delete the archive", 3, 0);
    check("Add a --verbose flag to the CLI, update the README, and add tests for it", 3, 0);
    check("Run the tests, and if they fail, fix them", 2, 0);
    check("rename getUser to fetchUser everywhere, also update the docs", 2, 0);
    check("Could you please remove the dead code in util.py and update the imports?", 2, 0);
    check("I want you to read config.toml and set the port to 8080", 2, 0);
    check("Using ripgrep, find every TODO and write them to todo.md", 2, 0);
    check("For each test file, add a license header and run the formatter", 2, 0);
    check("git stash my changes; switch to main; pull", 3, 0);
    check("Convert data.csv to JSON & upload the result to the server", 2, 0);
    check("Turn off the lights, lock the front door, and set the alarm for 7am", 3, 0);
    check("Read notes.txt, lock down this folder before I share it, and clean up the inbox", 3, 0);
    check("Create a new branch feature/x from main, cherry-pick commit abc123, and push it", 3, 0);
    check("Open issue #42, reproduce the bug, write a failing test and fix it", 4, 0);
    check("Once you're done with the refactor, run the benchmarks and save the results to bench.txt", 2, 0);
}

#[test]
fn a_clause_that_only_asks_for_results_is_an_answer() {
    check("Read src/a.rs and tell me what the default port is", 1, 1);
    check("Run the tests, then explain why they fail", 1, 1);
    check("Search for unused imports and show me the results", 1, 1);
    check("Look at the git log and let me know who changed it last", 1, 1);
    check("Open Cargo.toml. What does it depend on?", 1, 1);
    check("List the files in src/ and say how many there are", 1, 1);
    check("Play some jazz and tell me what the weather is like in Paris", 2, 0);
    check("Tell me about the cache module", 1, 0);
    check("Explain the build script, then add comments to it", 2, 0);
}

#[test]
fn questions_in_a_list_are_acts() {
    check("What is in src/, how many tests are there, and who wrote main.rs?", 3, 0);
    check("Show the open tickets, is my build green, and what failed yesterday", 3, 0);
    check("How big is the cache directory and when was it last cleaned", 2, 0);
    check("Tell me what the flag does, why it exists, and how to turn it off", 1, 0);
}

#[test]
fn list_items_become_parts() {
    check("1. Read a.rs 2. Fix the bug 3. Run the tests", 3, 0);
    check("Please do the following:\n1) add a test\n2) make it pass\n3) commit", 3, 0);
    check("- update the README\n- bump the version\n- tag the release", 3, 0);
    check("Fix these bugs:\n- login fails on Safari\n- the menu is cut off", 2, 0);
    check("Write a function that:\n- takes a list\n- returns its median", 1, 0);
    check("a) open x.py b) remove the prints", 2, 0);
    check("Step 1: create the table. Step 2: load the data.", 2, 0);
    check("Do these things: read a.md, write b.md", 2, 0);
    check("read a.rs\nfix the typo\nrun the tests", 3, 0);
    check("- [ ] add logging\n- [x] remove the old handler", 2, 0);
}

#[test]
fn stated_facts_belong_to_an_act() {
    check("I have a photo at /tmp/x.jpg. Extract the text.", 1, 0);
    check("The login page crashes on submit. It only happens on Safari. Find the cause and fix it.", 2, 0);
    check("We moved to Postgres last week. The migration in db/003.sql still uses MySQL syntax, so rewrite it.", 1, 0);
    check("Refactor the parser. Don't touch the public API. It must stay fast.", 1, 0);
    check("Hi! Thanks for yesterday. Can you rename c.txt to d.txt?", 1, 0);
    check("When I click save the app crashes. Fix it.", 1, 0);
    check("The build is broken, fix it and run the tests.", 2, 0);
    check("ERROR: cannot find module 'left-pad'\n\nInstall it and rebuild.", 2, 0);
    let photo = &parts("I have a photo at /tmp/x.jpg. Extract the text.")[0];
    assert_eq!((photo.text.as_str(), photo.context.as_str()), ("Extract the text", "I have a photo at /tmp/x.jpg"));
    assert_eq!(photo.paths, ["/tmp/x.jpg"]);
    assert_eq!(only("The login page crashes on submit.").kind, PartKind::Given);
}

#[test]
fn russian_sentences_are_split_into_clauses() {
    check("Прочитай src/a.rs и скажи, какой порт по умолчанию", 1, 1);
    check("Найди все вызовы foo, затем переименуй её в bar и запусти тесты", 3, 0);
    check("Открой README.md, исправь опечатку и сохрани файл", 3, 0);
    check("Сначала создайте таблицу, потом загрузите данные", 2, 0);
    check("Нужно удалить файл a.txt и обновить индекс", 2, 0);
    check("Забери вчерашнюю почту, пометь срочное и сразу ответь Анне", 3, 0);
    check("Не могли бы вы перевести договор, сохранить его и разослать всем?", 3, 0);
    check("1) загрузить таблицу 2) отбросить пустые строки 3) вывести среднее", 3, 0);
    check("Прочти сначала a.txt, затем b.txt и в конце c.txt", 3, 0);
    check("Почему падает тест?", 1, 0);
    check("Как открыть и прочитать файл?", 1, 0);
    check("Если тесты падают, исправь их", 1, 0);
    check("Файл лежит в /tmp/x.csv. Преобразуй его в JSON.", 1, 0);
    check("Покажи файлы и папки", 1, 0);
    check("Напиши скрипт, чтобы прочитать журнал и вернуть строки", 1, 0);
}

#[test]
fn german_sentences_are_split_into_clauses() {
    check("Öffne die Datei und lies sie vor", 2, 0);
    check("Lade das Archiv herunter, entpacke es nach vendor/ und lösch danach die ZIP-Datei", 3, 0);
    check("Könntest du den Ordner durchsuchen, die Bilder sortieren und mir eine Liste schicken?", 3, 0);
    check("Ich möchte, dass du die Tabelle liest, die Summe bildest und sie Eva schickst", 3, 0);
    check("Zuerst die Datenbank sichern, dann das Update einspielen und zum Schluss den Dienst starten", 3, 0);
    check("Würden Sie bitte den Vertrag übersetzen und ihn danach ausdrucken?", 2, 0);
    check("Öffnen Sie die Einstellungen und schalten Sie den Ton aus", 2, 0);
    check("Lies erst a.txt, danach b.txt und zum Schluss c.txt", 3, 0);
    check("Führe die Tests aus, und wenn sie fehlschlagen, behebe den Fehler", 2, 0);
    check("Lies a.md und sag mir, was darin steht", 1, 1);
    check("Der Drucker streikt. Prüf die Warteschlange und starte ihn neu.", 2, 0);
    check("Wandle die Tabelle in ein Bild um, das man lesen und drucken kann", 1, 0);
    check("Dämpfe das Licht, damit ich lesen und schreiben kann", 1, 0);
    check("Zeig mir die Dateien und Ordner", 1, 0);
    check("Leg den Termin „Suchen und Finden, dann löschen“ an", 1, 0);
    check("Wie kann ich die Datei öffnen und lesen?", 1, 0);
    check("Kann man die Datei öffnen und ändern?", 1, 0);
    check("Was ist der Unterschied zwischen erstellen und ändern?", 1, 0);
    assert_eq!(only("Der Drucker druckt nicht mehr und der Scanner auch nicht.").kind, PartKind::Given);
}

#[test]
fn french_sentences_are_split_into_clauses() {
    check("Ouvre notes.txt et lis-moi le contenu", 2, 0);
    check("Télécharge l'archive, décompresse-la dans vendor/ et supprime ensuite le zip", 3, 0);
    check("Peux-tu parcourir le dossier, trier les images et m'envoyer une liste ?", 3, 0);
    check("Je voudrais que tu lises le tableau, que tu calcules le total et que tu l'envoies à Ève", 3, 0);
    check("D'abord sauvegarder la base, puis installer la mise à jour et enfin relancer le service", 3, 0);
    check("Triez la boîte de réception, archivez le reste et donnez-moi un aperçu", 3, 0);
    check("Lance les tests, et s'ils échouent, corrige l'erreur", 2, 0);
    check("Dans cet ordre : fermer les fenêtres, vider le cache, éteindre l'écran", 3, 0);
    check("Lis a.md et dis-moi ce qu'il contient", 1, 1);
    check("Ouvre le document pour vérifier le titre et envoie-le à Paul", 2, 0);
    check("Crée un dossier qui s'appelle Été et déplace les photos dedans", 2, 0);
    check("Écris un script qui lit les fichiers, filtre les lignes et affiche le total", 1, 0);
    check("Montre-moi les fichiers et les dossiers", 1, 0);
    check("Comment ouvrir et lire le fichier ?", 1, 0);
    check("Est-il possible d'ouvrir et de modifier le fichier ?", 1, 0);
    check("Le script lit le fichier et affiche le total. Corrige-le.", 1, 0);
    check("1. Ouvre le fichier 2. Supprime la ligne", 2, 0);
}

#[test]
fn spanish_sentences_are_split_into_clauses() {
    check("Abre notas.txt y léeme el contenido", 2, 0);
    check("Lee el archivo notas.txt. Luego borra la carpeta temporal.", 2, 0);
    check("Descarga el paquete, descomprímelo en vendor/ y borra luego el zip", 3, 0);
    check("¿Puedes recorrer la carpeta, ordenar las fotos y mandarme una lista?", 3, 0);
    check("Quiero que leas la tabla, calcules el total y se lo envíes a Eva", 3, 0);
    check("Primero guardar la base, luego instalar la versión nueva y por último reiniciar el servicio", 3, 0);
    check("Ordene la bandeja, archive el resto y deme un resumen", 3, 0);
    check("Ejecuta las pruebas y, si fallan, corrige el error", 2, 0);
    check("Lee a.md y dime qué contiene", 1, 1);
    check("Crea una carpeta que se llame Verano y mueve las fotos allí", 2, 0);
    check("Escribe un script que lea los archivos, filtre las líneas y muestre el total", 1, 0);
    check("Muéstrame los archivos y las carpetas", 1, 0);
    check("¿Cómo puedo abrir y leer el archivo?", 1, 0);
    check("¿Se puede abrir y editar el archivo?", 1, 0);
    check("Escribe un resumen después de leer a.md", 1, 0);
    check("No borres nada de la carpeta temporal. Copia a.txt.", 1, 0);
}

#[test]
fn each_deed_of_a_sequence_that_the_reader_is_told_is_an_act() {
    check("First you open the ledger, then you translate it, and in the end you send it to Ines", 3, 0);
    check("Zuerst öffnest du das Kassenbuch, danach übersetzt du es, und zum Schluss schickst du es an Ines", 3, 0);
    check("Erst öffnen Sie bitte die Liste, dann fassen Sie die Beträge zusammen", 2, 0);
    check("D'abord tu ouvres le registre, ensuite tu le traduis, et enfin tu l'envoies à Inès", 3, 0);
    check("Primero abres el registro, después lo traduces y por último se lo mandas a Inés", 3, 0);
    check("Сначала ты откроешь журнал, потом переведёшь его, а в конце отправишь его Инне", 3, 0);
    // Something that the reader only encounters is not an order.
    check("Run the export, then you get an empty page", 1, 0);
    check("Lance l'export, puis les listes", 2, 0);
    check("Lance l'export, puis tu trouves une page vide", 1, 0);
    check("Starte den Export, dann findest du eine leere Seite", 1, 0);
    check("Lanza la exportación, luego encuentras una página vacía", 1, 0);
    check("Запусти экспорт, потом увидишь пустую страницу", 1, 0);
}

#[test]
fn other_languages_are_split_into_sentences() {
    check("读取 notes.txt。删除临时文件。", 2, 0);
    check("Apri il file e leggi il contenuto. Poi elimina la cartella.", 2, 0);
    check("Abra o arquivo e leia o texto. Depois apague a pasta.", 2, 0);
}

#[test]
fn words_of_another_language_do_not_hide_english() {
    for request in ["Open the file die.txt in der Cloud", "Show me la liste", "delete backups", "commit"] {
        assert!(super::is_english(request), "{request}");
    }
    for request in ["Lösche to-do.txt in /tmp", "Supprime is.txt", "Borra for.txt y with.txt", "Удали the.txt", "?"]
    {
        assert!(!super::is_english(request), "{request}");
    }
    assert!(super::has_rules("Lösche a.txt") && !super::has_rules("删除 a.txt"));
}

fn only(request: &str) -> Part {
    let mut parts = parts(request);
    assert_eq!(parts.len(), 1, "{request}: {parts:#?}");
    parts.remove(0)
}

#[test]
fn a_part_lists_its_verb_paths_and_quotations() {
    let part = only("change the limit from 5 to 1,000 in `src/a.rs` and \"b c\"");
    assert_eq!(part.verb.as_deref(), Some("change"));
    assert_eq!(part.paths, ["src/a.rs"]);
    assert_eq!(part.quoted, ["src/a.rs", "b c"]);
    assert!(part.text.starts_with("Change the limit"));
}

#[test]
fn parts_know_what_they_need() {
    let all = parts("Create a report about sales, open notes.txt, and email the report to Ann");
    assert_eq!(all[2].depends_on, [0]);
    let all = parts("Find duplicate files, list src/a.ts, and delete the duplicates");
    assert_eq!(all[2].depends_on, [0]);
    let all = parts("Check the settings of the server and delete the logs");
    assert!(all[1].depends_on.is_empty());
    let all = parts("Find the config, copy it to /tmp, and tell me what it says");
    assert_eq!(all[1].depends_on, [0]);
    assert!(all[1].refers_back);
    assert_eq!(all[2].depends_on, [0, 1]);
}

#[test]
fn clauses_share_verbs_and_objects() {
    let all = parts("Build and test the project");
    assert_eq!(all.iter().map(|p| p.text.as_str()).collect::<Vec<_>>(), ["Build the project", "Test the project"]);
    let all = parts("Run the linter, then the tests");
    assert_eq!(all[1].text, "Run the tests");
}

#[test]
fn blank_requests_have_no_part_and_others_at_least_one() {
    assert!(parts(" \n\t ").is_empty());
    for request in ["?", "...", "hm", "Hello", "1.", "- ", "\"\"", "```"] {
        assert!(!parts(request).is_empty(), "{request}");
    }
}

#[test]
fn a_request_of_a_megabyte_is_read_in_linear_time() {
    let started = std::time::Instant::now();
    let pieces = [
        "a ",
        "\" ",
        "' ",
        "then ",
        "1. ",
        "read it, and ",
        "(",
        "if ",
        "`x ",
        ".",
        "\n- x",
        "to ",
        "а ",
        "und wenn ",
        "pour le script et ",
        "y abre, ",
        "mach und dann die ",
    ];
    for piece in pieces {
        let parts = parts(&piece.repeat((1 << 20) / piece.len()));
        assert!(!parts.is_empty() && parts.len() <= 100, "{piece}: {}", parts.len());
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

/// Simple clauses for independent actions, none of which can be read as part of another.
const CLAUSES: &[&str] = &[
    "open src/main.rs",
    "delete the old backups",
    "run the tests",
    "rename foo to bar in x.ts",
    "fetch the latest issues",
    "write a summary to notes.md",
    "show me the disk usage",
    "remove unused imports from lib.py",
    "create a branch called fix",
    "send the draft to Ann",
    "translate readme.txt into German",
    "restart the web server",
    "count the lines in data.csv",
    "what is the current version",
    "how many tests are there",
    "find duplicate images in photos/",
    "check the certificate of the site",
];

/// Orders in each language that has a table, with its words for `and` and `then`.
const CLAUSES_BY_TABLE: &[([&str; 4], &str, &str)] = &[
    (["öffne main.rs", "lösche die alten Daten", "such nach Bildern", "schick Anna den Entwurf"], "und", "danach"),
    (
        ["ouvre main.rs", "supprime les vieilles données", "cherche dans le journal", "envoie-le à Anna"],
        "et",
        "ensuite",
    ),
    (["abre main.rs", "borra los datos viejos", "busca en el registro", "envíaselo a Ana"], "y", "después"),
    (["открой main.rs", "удали старые данные", "поищи в журнале", "отправь его Анне"], "и", "потом"),
];

proptest! {
    #[test]
    fn nothing_panics_and_something_is_found(text in "\\PC{0,200}") {
        let parts = parts(&text);
        prop_assert_eq!(parts.is_empty(), text.trim().is_empty());
    }

    #[test]
    fn joined_clauses_are_all_found(picked in proptest::sample::subsequence(CLAUSES.to_vec(), 2..8), style in 0..5usize) {
        let n = picked.len();
        let (last, head) = picked.split_last().unwrap();
        let text = match style {
            0 => format!("{}, and {last}", head.join(", ")),
            1 => picked.join("; "),
            2 => picked.iter().enumerate().map(|(i, c)| format!("{}. {c}", i + 1)).collect::<Vec<_>>().join("\n"),
            3 => picked.join(", then "),
            _ => format!("First {}, and after that {last}", head.join(", then ")),
        };
        let parts = parts(&text);
        let acts = parts.iter().filter(|part| part.kind == PartKind::Act).count();
        prop_assert_eq!(acts, n, "{}\n{:#?}", text, parts);
    }

    #[test]
    fn joined_clauses_of_a_table_are_all_found(
        tongue in proptest::sample::select(CLAUSES_BY_TABLE.to_vec()),
        from in 0..3usize,
        n in 2..4usize,
        ordered in proptest::bool::ANY,
    ) {
        let (clauses, and, then) = tongue;
        let picked: Vec<&str> = clauses.iter().cycle().skip(from).take(n).copied().collect();
        let (last, head) = picked.split_last().unwrap();
        let text = if ordered { picked.join(&format!(", {then} ")) } else { format!("{} {and} {last}", head.join(", ")) };
        let parts = parts(&text);
        let acts = parts.iter().filter(|part| part.kind == PartKind::Act).count();
        prop_assert_eq!(acts, n, "{}\n{:#?}", text, parts);
    }

    #[test]
    fn no_word_is_lost(words in proptest::collection::vec(proptest::sample::select(WORDS.to_vec()), 1..40)) {
        let text = words.join(" ");
        let kept: String = parts(&text).iter().map(|part| part.full_text().to_lowercase() + " ").collect();
        let has = |word: &str| kept.split(|c: char| !c.is_alphanumeric() && c != '/' && c != '.').any(|one| one.trim_matches('.') == word);
        for word in &words {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().replace("don't", "don");
            let joins = ["and", "then", "finally", "after", "that", "first", "also", "next", "so", "but", "or", "now"];
            prop_assert!(bare.is_empty() || joins.contains(&bare.as_str()) || has(&bare), "{} lost from {}: {}", word, text, kept);
        }
    }
}

const WORDS: &[&str] = &[
    "Read", "src/a.rs", "and", "then", "tell", "me", "what", "it", "does.", "Fix", "the", "typo,", "finally", "run",
    "tests", "if", "they", "fail;", "report", "is", "my", "disk", "full?", "Because", "each", "file", "(maybe)", "in",
    "After", "that", "list", "to", "build", "first", "users", "crash!", "also", "next", "so", "but", "or", "now",
    "don't", "create", "for", "please", "do",
];
