/** Environment of a process of Node whose wall clock SIGUSR2 sets forward by this many milliseconds, or back. */
export function settableClock(byMs: number): { readonly NODE_OPTIONS: string } {
  const code = `const Real = Date;
    let aheadMs = 0;
    process.on('SIGUSR2', () => { aheadMs += ${byMs}; });
    globalThis.Date = class extends Real {
      constructor(...given) { if (given.length > 0) super(...given); else super(Real.now() + aheadMs); }
      static now() { return Real.now() + aheadMs; }
    };`;
  // Node splits its options at spaces.
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}
