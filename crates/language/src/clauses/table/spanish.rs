//! The table of Spanish words for the clause rules.

use super::Words;

pub(super) static WORDS: Words = Words {
    verbs: "abrir leer escribir buscar encontrar mostrar enseñar enviar mandar crear hacer poner decir añadir \
            agregar borrar eliminar quitar copiar pegar mover nombrar guardar cargar subir bajar instalar \
            ejecutar iniciar detener comprobar verificar revisar probar comparar contar calcular analizar \
            extraer convertir traducir cambiar modificar reemplazar sustituir corregir arreglar ordenar listar \
            anotar explicar dar preparar redactar programar recordar reservar activar apagar encender aumentar \
            reducir cerrar imprimir exportar importar responder adjuntar transcribir generar consultar \
            actualizar sacar ver mirar invitar avisar pasar usar aplicar elegir llamar",
    imperatives: "encuentra encuentre muestra muestre mueve mueva comprueba compruebe prueba pruebe cuenta \
                  cuente recuerda recuerde enciende encienda cierra cierre convierte convierta corrige corrija \
                  sustituye sustituya traduzca reduzca haz haga pon ponga di diga ve detén detenga extraiga \
                  envía envíe dé obtén pide vuelve sigue elige",
    endings: &[
        ("car", &["ca", "que", "cá"]),
        ("gar", &["ga", "gue", "gá"]),
        ("zar", &["za", "ce", "zá"]),
        ("ar", &["a", "e", "á"]),
        ("er", &["e", "a", "é"]),
        ("ir", &["e", "a", "í"]),
    ],
    prefixes: "re des",
    imperative_endings: "",
    object_endings: "a e",
    infinitive_endings: "ar er ir",
    noun_endings: "",
    last_endings: "",
    wish_endings: &["s", "as", ""],
    told_endings: "",
    meets: "encuentras, encuentra, ves, ve, obtienes, recibes",
    clitics: "me se lo la los las le les nos",
    polite_endings: "",
    formal: "",
    verb_last: false,
    noun_capitals: false,
    not_verbs: "existe, falta, queda, aparece, falla, ocurre, sale, hace, hola, nada, ahora, entre, sobre, durante, donde, haber, lugar, mujer, \
                similar, taller, túneles, ángeles, cárceles",
    joins: "y, e, &, así como",
    sequence: "luego, después, después de eso, después de esto, luego de eso, tras eso, por último, finalmente, al final, para terminar, \
               primero, en primer lugar, en segundo lugar, a continuación, acto seguido, más tarde, posteriormente, seguidamente, para empezar, \
               una vez hecho",
    additions: "también, además, asimismo, entonces, enseguida, de inmediato, de paso, ahora",
    leads: "por favor, puedes, podrías, puede, podría, podéis, podríais, podrían, pueden, haz el favor, haga el favor, estaría bien, \
            serías tan amable, sería tan amable, me puedes, me podrías, \
            hay que, tienes que, debes, vamos, tenemos que, hace falta, ayúdame, no olvides, no te olvides, hola, buenas, buenos días, \
            gracias, oye",
    wants: "quiero, quisiera, querría, necesito, me gustaría",
    wishes: "que",
    subordinators: "si, cuando, en cuanto, una vez que, después de, después de que, luego de, antes de, antes de que, para que, porque, ya que, \
                    mientras, aunque, que, quien, hasta que",
    conditions: "si",
    purposes: "para, a fin de",
    doers: "script, programa, función, comando, herramienta, clase, método, aplicación",
    questions: "qué, cuál, cuáles, quién, cuándo, cuánto, cuánta, cuántos, cuántas, cómo, dónde, por qué",
    negations: "no",
    determiners: "el, la, los, las, un, una, unos, unas, mi, mis, tu, tus, su, sus, nuestro, nuestra, este, esta, estos, estas, ese, esa, esos, \
                  esas, todo, toda, todos, todas, cada, dos, al",
    prepositions: "en, a, como, con, por, para, de, del, desde, hasta, sin, según, dentro",
    subjects: "yo, él, ella, ellos, ellas, se, esto, eso",
    addressees: "tú, usted, ustedes",
    objects: "me, te, se, nos, lo, la, los, las, le, les",
    before_infinitive: "a, de",
    finite: "es, son, está, están, ha, han, hay, era, fue, puedo, tiene, tienen, tengo, tenemos",
    back: "él, ella, ello, ellos, ellas, eso, esto, resultado, resultados",
    tells: "decir, di, diga, explicar, responder",
    shows: "mostrar, muestra, muestre, enseñar, dar",
    looks: "leer, abrir, buscar, encontrar, encuentra, encuentre, revisar, contar, cuenta, cuente, comparar, analizar",
    does: "hacer, haz, haga",
    following: "siguiente, siguientes, estos, estas",
};
