// Imported before anything else in every process that the bench starts: whatever befalls the bench, none outlives it.

const BETWEEN_LOOKS_MS = 500;

const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) process.exit(1);
}, BETWEEN_LOOKS_MS).unref();
