/** A text of the registry with what stands in braces filled in. */
export function filled(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (placeholder, name: string) => String(values[name] ?? placeholder));
}

/** What an operator reads of a failure or a reason, of one indexer by its name, or of "the indexer". */
export function sentenceOf({ operatorReads }: { readonly operatorReads: string }, indexer = 'the indexer'): string {
  return filled(operatorReads, { indexer });
}
