import type { Listeners } from './types.ts';

const listeners: { [name: string]: ((value: never) => void)[] } = {};

export function on<K extends keyof Listeners>(
  name: K,
  listen: (value: Listeners[K]) => void,
): void {
  (listeners[name] ??= []).push(listen);
}

/** What a listener throws is an error of the page. */
export function emit<K extends keyof Listeners>(name: K, value: Listeners[K]): void {
  listeners[name]?.forEach((listen) => queueMicrotask(() => listen(value as never)));
}

export const fail = (error: unknown): void => emit('error', error as Error);
