import { afterEach, vi } from 'vitest';

// Test files share worker processes, so that fake timers left behind would stop the clock of other files too.
afterEach(() => void vi.useRealTimers());
