import { writeFileSync } from 'node:fs';
import { createApp } from '../../src/app.ts';
import { loadSettings } from '../../src/config/load.ts';
import { createLogger } from '../../src/operate/logger.ts';

export const OPENAPI_FILE = new URL('../../config/openapi.json', import.meta.url);

/** The part of JSON Schema that tests read. */
interface Schema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'header';
  readonly description: string;
  readonly required: boolean;
  readonly schema: Schema;
}

interface Described {
  readonly summary: string;
  readonly parameters: readonly Parameter[];
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
  readonly security?: readonly object[];
  readonly requestBody: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

interface DescribedPath {
  /** Only of the admin port's paths. */
  readonly servers?: readonly object[];
  readonly get?: Described;
  readonly post?: Described;
}

export interface OpenApiDocument {
  readonly servers: readonly [{ readonly variables: { readonly port: { default: string } } }];
  readonly paths: Readonly<Record<string, DescribedPath>>;
}

/** The `/openapi.json` of an instance with default settings, except for these, and the paths of its admin port. */
export async function servedDocument(env: Readonly<Record<string, string>> = {}) {
  // No program listens on port 1 of this machine.
  const needed = { UPSTREAM_URL: 'http://127.0.0.1:1', ...env };
  const { settings } = loadSettings({ ...needed, PORT: '0', ADMIN_PORT: '0' });
  const app = await createApp({ logger: createLogger('silent', { write: () => {} }) }, settings);
  const { adminUrl } = await app.listen();
  const ask = async (path: string) => (await fetch(adminUrl + path)).text();
  const document: OpenApiDocument = JSON.parse(await ask('/openapi.json'));
  const { error }: { error: string } = JSON.parse(await ask('/no/such/path'));
  await app.close();
  document.servers[0].variables.port.default = String(loadSettings(needed).settings.http.port);
  return { document, adminPaths: error.replace('accepted: ', '').split(', ') };
}

/** The expected document in the package. */
export async function renderOpenApi(): Promise<string> {
  const { document } = await servedDocument();
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

if (import.meta.main) writeFileSync(OPENAPI_FILE, await renderOpenApi());
