/** Of Redis: who asks for work tells it there to the service `operator`. */
export const WAKE_CHANNEL = 'operator.wake';

/**
 * What to look at: the queue of operations, or events.dead because somebody looks at dead letters.
 * A lost message delays the work until the operator looks by itself.
 */
export type Wake = 'operations' | 'dead_letters';
