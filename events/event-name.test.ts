import { expect, test } from 'vitest';
import {
  eventNameOf,
  isEventType,
  isPlatformEvent,
  normaliseEventName,
  distinctIdOf,
} from './event-name.ts';

test.each([
  ['track', ' order_completed ', 'order_completed'],
  ['track', 'سفارش  تكميل شد', 'سفارش تکمیل شد'],
  ['track', 'Order Completed/ok', 'Order Completed/ok'],
  ['page', undefined, 'page_viewed'],
  ['page', '', 'page_viewed'],
  ['page', ' \u064b ', 'page_viewed'],
  ['page', 'home', 'home'],
  ['screen', null, 'screen_viewed'],
  ['screen', 'Basket', 'Basket'],
  ['identify', 'ignored', 'identify'],
  ['alias', 'ignored', 'alias'],
] as const)('a %s event named %j is stored as %j', (type, sent, stored) => {
  expect(eventNameOf(type, sent)).toBe(stored);
});

test('an event name has at most 128 bytes', () => {
  expect(normaliseEventName('ن'.repeat(100))).toBe('ن'.repeat(64));
});

test('event types are case-sensitive', () => {
  expect(['track', 'identify', 'page', 'screen', 'alias'].every(isEventType)).toBe(true);
  expect(['Track', 'track ', '', 'group', null, 1].some(isEventType)).toBe(false);
});

test('the distinct id is the user_id, or else the anonymous_id', () => {
  expect(distinctIdOf({ user_id: 'u', anonymous_id: 'a' })).toBe('u');
  expect(distinctIdOf({ user_id: '', anonymous_id: 'a' })).toBe('a');
});

test('a message click is not a platform event, because the SDK sends it', () => {
  expect(
    ['message_sent', 'message_failed', 'message_withheld', 'message_opened'].every(isPlatformEvent),
  ).toBe(true);
  expect(isPlatformEvent('message_clicked')).toBe(false);
});
