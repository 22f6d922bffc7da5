/** A part of all as a percentage for people, at least 1. */
export const percent = (part: number, all: number): string =>
  `${Math.max(1, Math.round((100 * part) / Math.max(1, all)))} %`;
