import type { SimulatedOperation } from '../operation.ts';

/** Sends an external message. */
export const message = {
  name: 'message',
  methods: ['POST'],
  answer: ({ chain }) => ({ message_hash: chain.send() }),
} as const satisfies SimulatedOperation;
