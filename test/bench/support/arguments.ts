/** The values of a list separated by commas; `usual` if it is missing. Throws for a value that is not in `all`. */
export function listed<T extends string>(
  option: string,
  text: string | undefined,
  all: readonly T[],
  usual: readonly T[] = all,
): readonly T[] {
  if (text === undefined) return usual;
  return text.split(',').map((name) => {
    const found = all.find((one) => one === name);
    if (found === undefined) throw new RangeError(`${option}: ${name} is none of ${all.join(', ')}`);
    return found;
  });
}
