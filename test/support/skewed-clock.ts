/** Environment of a process of Node whose wall clock is so many milliseconds ahead of this machine's, or behind it. */
export function skewedClock(aheadMs: number): { readonly NODE_OPTIONS: string } {
  const code = `const Real = Date;
    globalThis.Date = class extends Real {
      constructor(...given) { if (given.length > 0) super(...given); else super(Real.now() + ${aheadMs}); }
      static now() { return Real.now() + ${aheadMs}; }
    };`;
  // Node splits its options at spaces.
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}
