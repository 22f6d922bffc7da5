import { afterEach, vi } from 'vitest';

// Test files share worker processes, so fake timers that are left behind would stop the clock of other files too.
afterEach(() => void vi.useRealTimers());
