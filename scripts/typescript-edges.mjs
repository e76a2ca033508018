// Prints the true call edges of a TypeScript or JavaScript project, one JSON object a line, as the compiler resolves them:
//   {"caller", "caller_file", "callee", "callee_file", "kind"}
//
// How to run it, with Node 18 or newer, anywhere outside the project that is asked about:
//   npm install --no-save typescript@5.9
//   node scripts/typescript-edges.mjs DIR [--typescript FOLDER] > edges.jsonl
//   monobloc eval edges --suite edges.jsonl --root DIR
// DIR is read with its tsconfig.json if it has one. FOLDER holds node_modules/typescript [default: the current folder].
//
// An edge is a call, a `new`, a tagged template or a JSX component whose target is declared in DIR. The target is the declaration of
// the resolved signature if that is a function, method or class; else the declared variable, property or method that is called (a
// property of an interface, a function that another function returned). Calls of parameters and of destructured locals are no edges.
// The caller is the innermost named function, method, class field or top-level variable around the call; code that runs when the file is
// loaded (outside every function) belongs to `<module>`.
import { createRequire } from "node:module";
import path from "node:path";

const [dir, ...options] = process.argv.slice(2);
if (!dir) {
  console.error("typescript-edges: name the folder to read: node typescript-edges.mjs DIR");
  process.exit(2);
}
const at = options.indexOf("--typescript");
const home = path.resolve(at >= 0 ? options[at + 1] : ".");
const ts = createRequire(path.join(home, "from.js"))("typescript");
const root = path.resolve(dir);

const found = ts.sys.readDirectory(root, [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"], ["**/node_modules", "**/.git"], undefined);
const sources = found.filter((file) => !/\.d\.[mc]?ts$/.test(file));
const configFile = path.join(root, "tsconfig.json");
let settings = {};
if (ts.sys.fileExists(configFile)) {
  const read = ts.readConfigFile(configFile, ts.sys.readFile);
  settings = ts.parseJsonConfigFileContent(read.config ?? {}, ts.sys, root).options;
}
const program = ts.createProgram(sources, {
  target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, strict: true,
  ...settings,
  allowJs: true, noEmit: true, skipLibCheck: true, allowImportingTsExtensions: true, noResolve: false, composite: false, incremental: false,
  jsx: ts.JsxEmit.Preserve,
});
const checker = program.getTypeChecker();
const wanted = new Set(sources.map((file) => path.resolve(file)));
const inside = (node) => node && wanted.has(path.resolve(node.getSourceFile().fileName));
const relative = (node) => path.relative(root, node.getSourceFile().fileName).split(path.sep).join("/");

const isFunction = (n) => ts.isFunctionDeclaration(n) || ts.isMethodDeclaration(n) || ts.isConstructorDeclaration(n) ||
  ts.isGetAccessor(n) || ts.isSetAccessor(n) || ts.isArrowFunction(n) || ts.isFunctionExpression(n);
const plain = (name) => name && (ts.isIdentifier(name) || ts.isStringLiteral(name) || ts.isPrivateIdentifier(name) || ts.isNumericLiteral(name)) ? name.text : name?.getText();

/** What a declaration is called: a function by the variable, property or assignment that holds it, a constructor by its class. */
function nameOf(node) {
  if (ts.isConstructorDeclaration(node)) return nameOf(node.parent);
  if (node.name) return plain(node.name);
  let holder = node.parent;
  while (holder && (ts.isParenthesizedExpression(holder) || ts.isAsExpression(holder) || ts.isSatisfiesExpression(holder))) holder = holder.parent;
  if (holder && (ts.isVariableDeclaration(holder) || ts.isPropertyAssignment(holder) || ts.isPropertyDeclaration(holder) || ts.isPropertySignature(holder)))
    return plain(holder.name);
  if (holder && ts.isBinaryExpression(holder) && holder.operatorToken.kind === ts.SyntaxKind.EqualsToken && ts.isPropertyAccessExpression(holder.left))
    return holder.left.name.text;
  if (holder && ts.isExportAssignment(holder)) return "default";
  if (ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node)) return "default";
  return undefined;
}

function callerOf(call) {
  let inFunction = false;
  for (let node = call.parent; node; node = node.parent) {
    if (isFunction(node)) {
      inFunction = true;
      const name = nameOf(node);
      if (name) return name;
    }
    if (ts.isPropertyDeclaration(node)) return plain(node.name);
    const topLevel = ts.isVariableDeclaration(node) && node.parent?.parent && ts.isVariableStatement(node.parent.parent) && (ts.isSourceFile(node.parent.parent.parent) || ts.isModuleBlock(node.parent.parent.parent));
    if (topLevel && inFunction && ts.isIdentifier(node.name)) return node.name.text;
  }
  return "<module>";
}

const real = (symbol) => symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;

/** The declaration a name stands for; `const a = b` is followed to b. */
function declared(symbol) {
  for (let step = 0; symbol && step < 16; step++) {
    symbol = real(symbol);
    const node = symbol.valueDeclaration ?? symbol.declarations?.[0];
    if (!node) return undefined;
    const from = ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node) ? node.initializer : undefined;
    const next = ts.isShorthandPropertyAssignment(node) ? checker.getShorthandAssignmentValueSymbol(node)
      : from && (ts.isIdentifier(from) || ts.isPropertyAccessExpression(from)) ? checker.getSymbolAtLocation(from) : undefined;
    if (!next || next === symbol) return node;
    const after = real(next);
    const there = after.valueDeclaration ?? after.declarations?.[0];
    if (!there || ts.isParameter(there) || !inside(there)) return node;
    symbol = next;
  }
  return undefined;
}

function targetOf(call) {
  let callee = call.expression ?? call.tag ?? call.tagName;
  while (ts.isParenthesizedExpression(callee) || ts.isNonNullExpression(callee) || ts.isAsExpression(callee)) callee = callee.expression;
  if (ts.isIdentifier(callee) && ts.isJsxOpeningLikeElement(call) && /^[a-z]/.test(callee.text)) return undefined;
  if (callee.kind === ts.SyntaxKind.SuperKeyword) {
    const base = checker.getTypeAtLocation(callee).symbol?.valueDeclaration;
    return base && ts.isClassLike(base) ? base : undefined;
  }
  const place = ts.isPropertyAccessExpression(callee) ? callee.name : callee;
  const symbol = ts.isIdentifier(place) || ts.isPrivateIdentifier(place) ? checker.getSymbolAtLocation(place) : undefined;
  const node = declared(symbol);
  const signature = checker.getResolvedSignature(call)?.declaration;
  // `new X()` calls X, whether it has a constructor of its own or inherits one.
  if (ts.isNewExpression(call) && node && ts.isClassLike(node)) return node;
  if (signature && !ts.isJSDocSignature(signature)) {
    const code = isFunction(signature) || ts.isClassLike(signature);
    if (code && inside(signature) && nameOf(signature)) return signature;
  }
  if (!node || ts.isParameter(node) || ts.isBindingElement(node)) return undefined;
  if (ts.isVariableDeclaration(node) && !ts.isIdentifier(node.name)) return undefined;
  return node;
}

const seen = new Set();
function visit(node) {
  const isCall = ts.isCallExpression(node) || ts.isNewExpression(node) || ts.isTaggedTemplateExpression(node) || ts.isJsxOpeningElement(node) || ts.isJsxSelfClosingElement(node);
  if (isCall && node.expression?.kind !== ts.SyntaxKind.ImportKeyword) {
    const target = targetOf(node);
    const callee = target && inside(target) ? nameOf(target) : undefined;
    if (callee) {
      const line = JSON.stringify({ caller: callerOf(node), caller_file: relative(node), callee, callee_file: relative(target), kind: ts.SyntaxKind[target.kind] });
      if (!seen.has(line)) {
        seen.add(line);
        console.log(line);
      }
    }
  }
  ts.forEachChild(node, visit);
}
for (const file of program.getSourceFiles()) if (wanted.has(path.resolve(file.fileName))) visit(file);
