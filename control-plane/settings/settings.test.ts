import { expect, it } from 'vitest';
import { readChanges } from './handlers.ts';

it('settings of messages are texts by name, and an empty one is the default', () => {
  expect(readChanges({ quiet_hours: ' 22:00-08:00 ', frequency_cap: '' })).toEqual({
    quiet_hours: '22:00-08:00',
    frequency_cap: '',
  });
});

it.each([
  [[], 'the body must be a JSON object of texts'],
  [{ colour: 'red' }, 'there is no setting colour'],
  [{ approval_required: true }, 'approval_required must be a text'],
  [{ quiet_hours: '25:00-08:00' }, 'quiet_hours: expected HH:MM-HH:MM in Tehran'],
])('%j is refused with a sentence', (body, sentence) => {
  expect(readChanges(body)).toContain(sentence);
});
