import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { SETTINGS } from '../../src/config/load.ts';
import { settingsSchema } from '../../src/config/schema.ts';
import { fileVariableOf } from '../../src/config/secret-files.ts';
import type { Setting } from '../../src/config/setting-source.ts';
import { onOrOff } from '../../src/config/values.ts';
import { duration } from '../../src/time-units.ts';
import { type LifetimeRule, ROWS } from '../../src/ton/lifetime-table.ts';
import { CENSUS, type CensusRow } from '../clients/census.ts';
import { LIFETIME_ANSWERS } from './lifetime-answers.ts';
import { between, table } from './marked-tables.ts';

const SETTINGS_PAGE = new URL('../../docs/reference/settings.md', import.meta.url);
const LIFETIMES_PAGE = new URL('../../docs/reference/lifetimes.md', import.meta.url);
const CLIENTS_PAGE = new URL('../../docs/start/your-clients.md', import.meta.url);
const JSON_SCHEMA = new URL('../../config/settings.schema.json', import.meta.url);

/** A file that is generated from the schema: its expected and its actual text. */
export interface RenderedDoc {
  readonly file: URL;
  readonly expected: string;
  readonly actual: string;
}

/**
 * Renders the settings page with its two tables, the table of lifetimes in their page, the requests of clients in their
 * page, and the JSON Schema with which editors check a settings file.
 */
export function renderDocs(): RenderedDoc[] {
  const page = readFileSync(SETTINGS_PAGE, 'utf8');
  const environment = SETTINGS.filter(({ env }) => env !== undefined);
  const fileOnly = SETTINGS.filter(({ env }) => env === undefined);
  const schema = z.toJSONSchema(settingsSchema, { io: 'input', unrepresentable: 'any', override: onlyTheFile });
  const environmentTable = table(
    ['Variable', 'Default', 'In the file', 'Meaning'],
    [...environment.map(environmentRow), ['`CONFIG_FILE`', '', '', 'The settings file, in JSON.']],
  );
  const fileTable = table(['Name', 'Default', 'Meaning'], fileOnly.map(fileRow));
  const tables = { environment: environmentTable, file: fileTable };
  const filled = Object.entries(tables).reduce(
    (text, [name, content]) => between(text, `settings:${name}`, content),
    page,
  );
  const lifetimes = readFileSync(LIFETIMES_PAGE, 'utf8');
  const lifetimesTable = table(
    [
      'Response',
      'Row',
      'Class',
      'Fresh',
      'Stale while revalidating',
      'Stale if failed or refused',
      'Setting of the TTL',
    ],
    lifetimeRows(),
  );
  const clients = readFileSync(CLIENTS_PAGE, 'utf8');
  const clientsTable = table(
    ['Client', 'Request', 'Every', 'With these settings', 'Why'],
    Object.values<CensusRow>(CENSUS).map(clientRow),
  );
  return [
    { file: SETTINGS_PAGE, expected: filled, actual: page },
    {
      file: JSON_SCHEMA,
      expected: `${JSON.stringify(schema, undefined, 2)}\n`,
      actual: readFileSync(JSON_SCHEMA, 'utf8'),
    },
    { file: LIFETIMES_PAGE, expected: between(lifetimes, 'lifetimes:rows', lifetimesTable), actual: lifetimes },
    { file: CLIENTS_PAGE, expected: between(clients, 'clients:census', clientsTable), actual: clients },
  ];
}

/** No setting is required in the file, and secrets are not allowed in it. */
function onlyTheFile({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  delete jsonSchema.required;
  for (const [name, property] of Object.entries(jsonSchema.properties ?? {})) {
    if (typeof property === 'object' && 'envOnly' in property) delete jsonSchema.properties?.[name];
  }
}

function environmentRow(setting: Setting): string[] {
  const { env, envOnly, path, description, schema } = setting;
  const name = env === 'UPSTREAM_URL' ? `\`${env}\` (required)` : `\`${env}\``;
  const fileVariable = fileVariableOf(setting);
  const meaning =
    fileVariable === undefined ? description : `${description} To read the value from a file, set \`${fileVariable}\`.`;
  return [name, defaultOf(schema), envOnly ? 'no: a secret' : `\`${path.join('.')}\``, meaning];
}

function fileRow({ path, description, schema }: Setting): string[] {
  return [`\`${path.join('.')}\``, defaultOf(schema), description];
}

/** A row for each kind of answer, in the order of the table in code. */
function lifetimeRows(): string[][] {
  return Object.entries(ROWS).map(([name, { answerClass, policy, setBy }]) => {
    // The cast: these are the names of ROWS.
    const rule = name as LifetimeRule;
    const fresh =
      'ageDivisor' in policy
        ? `1/${policy.ageDivisor} of the age (${duration(policy.minLifetime)} to ${duration(policy.maxLifetime)})`
        : rule === 'notKept'
          ? 'not kept'
          : duration(policy.lifetime);
    const names = setBy === 'growing' ? ['growingMin', 'growingMax'] : [setBy ?? []].flat();
    const settings = names.map((name) => `\`lifetimes.${name}\``).join(', ');
    const [stale, failed] = [policy.staleWhileRevalidate, policy.staleIfError].map((ms) => (ms ? duration(ms) : ''));
    return [
      LIFETIME_ANSWERS[rule],
      `\`${rule}\``,
      answerClass.replace('-', ' '),
      fresh,
      stale ?? '',
      failed ?? '',
      settings,
    ];
  });
}

function clientRow({ client, use, everySeconds, path, body, fate, why }: CensusRow): string[] {
  const request = `${use}: \`${path}\`${body === undefined ? '' : ' (`POST`)'}`;
  return [client, request, everySeconds === undefined ? '' : `${everySeconds} s`, `**${fate}**`, why];
}

function defaultOf(schema: z.ZodType): string {
  if (!(schema instanceof z.ZodPrefault)) return '';
  const { defaultValue } = schema.def;
  return `\`${typeof defaultValue === 'boolean' ? onOrOff(defaultValue) : String(defaultValue)}\``;
}

if (import.meta.main) {
  for (const { file, expected, actual } of renderDocs()) if (expected !== actual) writeFileSync(file, expected);
}
