import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { SETTINGS } from '../../src/config/load.ts';
import { REMOVED_SETTINGS } from '../../src/config/removed-settings.ts';
import { settingsSchema } from '../../src/config/schema.ts';
import type { Setting } from '../../src/config/setting-source.ts';
import { between, table } from './marked-tables.ts';

const SETTINGS_PAGE = new URL('../../docs/reference/settings.md', import.meta.url);
const UPGRADE_PAGE = new URL('../../docs/how-to/upgrade.md', import.meta.url);
const JSON_SCHEMA = new URL('../../config/settings.schema.json', import.meta.url);

/** A file that is generated from the schema: its expected and its actual text. */
export interface RenderedDoc {
  readonly file: URL;
  readonly expected: string;
  readonly actual: string;
}

/**
 * Renders the settings page with its three tables, the removed settings in the page about upgrades, and the JSON Schema
 * with which editors check a settings file.
 */
export function renderDocs(): RenderedDoc[] {
  const page = readFileSync(SETTINGS_PAGE, 'utf8');
  const environment = SETTINGS.filter(({ env }) => env !== undefined);
  const fileOnly = SETTINGS.filter(({ env, path }) => env === undefined && path[0] !== 'lifetimes');
  const schema = z.toJSONSchema(settingsSchema, { io: 'input', unrepresentable: 'any', override: onlyTheFile });
  const environmentTable = table(
    ['Variable', 'Default', 'In the file', 'Meaning'],
    [...environment.map(environmentRow), ['`CONFIG_FILE`', '', '', 'The JSON file with all other settings.']],
  );
  const fileTable = table(['Name', 'Default', 'Meaning'], fileOnly.map(fileRow));
  const lifetimesTable = table(
    ['Name', '`lifetime`', '`staleWhileRevalidate`', '`staleIfError`', 'Answer'],
    lifetimeRows(schema),
  );
  const tables = { environment: environmentTable, file: fileTable, lifetimes: lifetimesTable };
  const filled = Object.entries(tables).reduce(
    (text, [name, content]) => between(text, `settings:${name}`, content),
    page,
  );
  const upgrade = readFileSync(UPGRADE_PAGE, 'utf8');
  const removedTable = table(['Removed', 'Instead'], REMOVED_SETTINGS.map(removedRow));
  return [
    { file: SETTINGS_PAGE, expected: filled, actual: page },
    {
      file: JSON_SCHEMA,
      expected: `${JSON.stringify(schema, undefined, 2)}\n`,
      actual: readFileSync(JSON_SCHEMA, 'utf8'),
    },
    { file: UPGRADE_PAGE, expected: between(upgrade, 'settings:removed', removedTable), actual: upgrade },
  ];
}

/** No setting is required in the file, and secrets are not allowed in it. */
function onlyTheFile({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  delete jsonSchema.required;
  for (const [name, property] of Object.entries(jsonSchema.properties ?? {})) {
    if (typeof property === 'object' && 'envOnly' in property) delete jsonSchema.properties?.[name];
  }
}

function environmentRow({ env, envOnly, path, description, schema }: Setting): string[] {
  const name = env === 'UPSTREAM_URL' ? `\`${env}\` (required)` : `\`${env}\``;
  return [name, defaultOf(schema), envOnly ? 'no: a secret' : `\`${path.join('.')}\``, description];
}

function fileRow({ path, description, schema }: Setting): string[] {
  return [`\`${path.join('.')}\``, defaultOf(schema), description];
}

function removedRow({ path, env, instead }: (typeof REMOVED_SETTINGS)[number]): string[] {
  return [[env, path].flatMap((name) => (name === undefined ? [] : `\`${name}\``)).join(', '), instead];
}

/** A row for each kind of answer, its windows side by side. */
function lifetimeRows({ properties = {} }: z.core.JSONSchema.BaseSchema): string[][] {
  const { lifetimes: group } = properties;
  const kinds = typeof group === 'object' ? (group.properties ?? {}) : {};
  return Object.entries(kinds).map(([kind, of]) => {
    const defaults = new Map(
      SETTINGS.filter(({ path }) => path[0] === 'lifetimes' && path[1] === kind).map(({ path, schema }) => [
        path[2] ?? 'lifetime',
        defaultOf(schema),
      ]),
    );
    const at = (name: string) => defaults.get(name) ?? '';
    const fresh = defaults.has('ageDivisor')
      ? `the age / ${at('ageDivisor')}, ${at('minLifetime')} to ${at('maxLifetime')}`
      : at('lifetime');
    const description = typeof of === 'object' ? (of.description ?? '') : '';
    return [`\`lifetimes.${kind}\``, fresh, at('staleWhileRevalidate'), at('staleIfError'), description];
  });
}

function defaultOf(schema: z.ZodType): string {
  return schema instanceof z.ZodPrefault ? `\`${String(schema.def.defaultValue)}\`` : '';
}

if (import.meta.main) {
  for (const { file, expected, actual } of renderDocs()) if (expected !== actual) writeFileSync(file, expected);
}
