import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** What every manifest begins with. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
}

const MODULES: Readonly<Record<string, string>> = {
  v1: 'core/v1',
  'apps/v1': 'apps/v1',
  'autoscaling/v2': 'autoscaling/v2',
  'networking.k8s.io/v1': 'networking/v1',
  'policy/v1': 'policy/v1',
};

/** The libraries and the API, which take most of the time: read once for all checks. */
const read = new Map<string, ts.SourceFile | undefined>();

const FILE = fileURLToPath(new URL('./manifests-as-literals.ts', import.meta.url));

/**
 * Checks manifests against the types of the Kubernetes API (1.30): each is given to the compiler as an object literal of
 * its kind, so that a field that does not exist and a value of another type are errors. What is wrong, in words.
 */
export function typeErrorsOf(manifests: readonly Manifest[]): string[] {
  const literals = manifests.map((manifest, index) => {
    const path = MODULES[manifest.apiVersion];
    if (path === undefined) throw new Error(`no types are known for ${manifest.apiVersion}`);
    return `export const m${index}: import('kubernetes-types/${path}').${manifest.kind} = ${JSON.stringify(manifest)};`;
  });
  const options: ts.CompilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => name === FILE || fileExists(name);
  host.getSourceFile = (name, ...rest) =>
    name === FILE
      ? ts.createSourceFile(FILE, literals.join('\n'), ts.ScriptTarget.Latest)
      : readOnce(name, () => getSourceFile(name, ...rest));
  const program = ts.createProgram([FILE], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const line = file === undefined || start === undefined ? 0 : file.getLineAndCharacterOfPosition(start).line;
    return `${manifests[line]?.kind}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
}

function readOnce(name: string, parse: () => ts.SourceFile | undefined): ts.SourceFile | undefined {
  if (!read.has(name)) read.set(name, parse());
  return read.get(name);
}
