import { writeFileSync } from 'node:fs';
import { loadSettings } from '../../src/config/load.ts';
import { type Operation, OperationsInUse } from '../../src/ton/operations.ts';
import { VERSION } from '../../src/version.ts';
import { openApi } from './openapi.ts';

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

/** The document of these operations, and of the default port. */
export function documentOf(operations: readonly Operation[]): OpenApiDocument {
  const { settings } = loadSettings({ UPSTREAM_URL: 'http://127.0.0.1:1' });
  // The cast: by its types the document may have any members.
  return openApi({ version: VERSION, operations, publicPort: settings.http.port }) as OpenApiDocument;
}

/** The expected document in the package. */
export function renderOpenApi(): string {
  return `${JSON.stringify(documentOf(new OperationsInUse().all), undefined, 2)}\n`;
}

if (import.meta.main) writeFileSync(OPENAPI_FILE, renderOpenApi());
