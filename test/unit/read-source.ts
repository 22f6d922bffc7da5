import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import ts from 'typescript';

/** One import of a source file, in whatever form: `import`, `export … from`, `import()`, `require()`, `import('…').Type`. */
export interface Import {
  readonly line: number;
  /** As written. */
  readonly specifier: string;
  /** A relative specifier's path from the folder that was read, undefined for packages and node: modules. */
  readonly path: string | undefined;
  /** True for what type stripping removes. */
  readonly onlyTypes: boolean;
  readonly isReExport: boolean;
}

/** What the architecture test has to know about one file. */
export interface SourceFile {
  /** From the folder that was read, with `/` on every system. */
  readonly path: string;
  readonly lines: number;
  readonly imports: readonly Import[];
  /** Lines that read `process.env`, the import of it included. */
  readonly environmentReads: readonly number[];
  /** Every name that the file declares: variables, parameters, functions, classes, types, members. */
  readonly names: readonly DeclaredName[];
  /** The interfaces, type aliases and classes at the top of the file. */
  readonly typeNames: readonly string[];
  /** Members of interfaces named `...Options` that are functions. */
  readonly functionsInOptions: readonly DeclaredName[];
}

/** A name and the line of its declaration. */
export interface DeclaredName {
  readonly name: string;
  readonly line: number;
}

/** Parses every TypeScript file below a folder. */
export function readSource(folder: string): SourceFile[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.ts'))
    .sort()
    .map((path) => parse(path, readFileSync(join(folder, path), 'utf8')));
}

function parse(path: string, text: string): SourceFile {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const imports: Import[] = [];
  const environmentReads: number[] = [];
  const names: DeclaredName[] = [];
  const functionsInOptions: DeclaredName[] = [];
  const lineOf = (node: ts.Node) => source.getLineAndCharacterOfPosition(node.getStart()).line + 1;

  const visit = (node: ts.Node): void => {
    const found = importOf(node);
    if (found !== undefined && ts.isStringLiteralLike(found.from)) {
      const specifier = found.from.text;
      const isOurs = specifier.startsWith('.');
      imports.push({
        line: lineOf(node),
        specifier,
        path: isOurs ? posix.join(posix.dirname(path), specifier) : undefined,
        onlyTypes: found.onlyTypes,
        isReExport: ts.isExportDeclaration(node),
      });
    }
    if (readsEnvironment(node)) environmentReads.push(lineOf(node));
    if (isDeclaredName(node)) names.push({ name: node.text, line: lineOf(node) });
    if (isFunctionInOptions(node)) functionsInOptions.push({ name: node.name.getText(), line: lineOf(node) });
    ts.forEachChild(node, visit);
  };
  visit(source);
  const lines = text.trimEnd().split('\n').length;
  const types = text.matchAll(/^(?:export )?(?:abstract )?(?:interface|type|class) (\w+)/gm);
  const typeNames = [...types].map(([, name = '']) => name);
  return { path, lines, imports, environmentReads, names, typeNames, functionsInOptions };
}

function importOf(node: ts.Node): { from: ts.Node; onlyTypes: boolean } | undefined {
  if (ts.isImportDeclaration(node)) {
    return { from: node.moduleSpecifier, onlyTypes: node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword };
  }
  if (ts.isExportDeclaration(node) && node.moduleSpecifier) {
    return { from: node.moduleSpecifier, onlyTypes: node.isTypeOnly };
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
    return { from: node.argument.literal, onlyTypes: true };
  }
  const argument = ts.isCallExpression(node) ? node.arguments[0] : undefined;
  if (argument === undefined || !ts.isCallExpression(node)) return undefined;
  const { expression } = node;
  const loads =
    expression.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(expression) && expression.text === 'require');
  return loads ? { from: argument, onlyTypes: false } : undefined;
}

function isDeclaredName(node: ts.Node): node is ts.Identifier | ts.PrivateIdentifier {
  if (!ts.isIdentifier(node) && !ts.isPrivateIdentifier(node)) return false;
  return 'name' in node.parent && node.parent.name === node && !ts.isPropertyAccessExpression(node.parent);
}

function isFunctionInOptions(node: ts.Node): node is ts.TypeElement & { readonly name: ts.PropertyName } {
  const isFunction = ts.isMethodSignature(node) || (ts.isPropertySignature(node) && mayBeFunction(node.type));
  return isFunction && ts.isInterfaceDeclaration(node.parent) && node.parent.name.text.endsWith('Options');
}

function mayBeFunction(type: ts.TypeNode | undefined): boolean {
  if (type === undefined) return false;
  if (ts.isUnionTypeNode(type)) return type.types.some(mayBeFunction);
  return ts.isFunctionTypeNode(ts.isParenthesizedTypeNode(type) ? type.type : type);
}

function readsEnvironment(node: ts.Node): boolean {
  if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
    return /^(node:)?process$/.test(node.moduleSpecifier.text);
  }
  const isProcess = (object: ts.Node) => ts.isIdentifier(object) && object.text === 'process';
  if (ts.isPropertyAccessExpression(node)) return isProcess(node.expression) && node.name.text === 'env';
  if (ts.isVariableDeclaration(node)) return node.initializer !== undefined && isProcess(node.initializer);
  return ts.isElementAccessExpression(node) && isProcess(node.expression);
}
