/** A text of the registry with its placeholders filled in. */
export function filled(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (placeholder, name: string) => String(values[name] ?? placeholder));
}

/** The operator's text for a failure or a reason, with the name of the indexer, or "the indexer". */
export function sentenceOf({ operatorReads }: { readonly operatorReads: string }, indexer = 'the indexer'): string {
  return filled(operatorReads, { indexer });
}
