import { describe, expect, it } from 'vitest';
import { RefusedChange } from '../fields.ts';
import { readOnsiteCampaign } from './read-definition.ts';

const campaign = {
  name: ' یلدا ',
  kind: 'survey',
  content: { title: 'نظر شما' },
  fields: [
    { name: 'score', type: 'rating', required: true },
    { name: 'color', type: 'choice', options: ['آبی', 'سبز'] },
  ],
  targeting: { url: [{ op: 'prefix', value: 'https://shop.ir/' }], audience: { trait: 'vip' } },
  frequency: 'once',
  starts_at: '2026-12-20T00:00:00+03:30',
  ends_at: '2026-12-22T00:00:00Z',
};

const read = (body: unknown) => readOnsiteCampaign(body, () => undefined);

function refusal(body: unknown): string {
  try {
    read(body);
  } catch (error) {
    if (error instanceof RefusedChange) return error.message;
    throw error;
  }
  return 'accepted';
}

describe('an on-site campaign', () => {
  it('is read with everything that it has', () => {
    expect(read(campaign)).toEqual({
      name: 'یلدا',
      definition: {
        kind: 'survey',
        content: { title: 'نظر شما' },
        fields: [
          { name: 'score', type: 'rating', required: true },
          { name: 'color', type: 'choice', required: false, options: ['آبی', 'سبز'] },
        ],
        url: [{ op: 'prefix', value: 'https://shop.ir/' }],
        frequency: 'once',
      },
      audience: { trait: 'vip' },
      startsAt: Date.UTC(2026, 11, 19, 20, 30),
      endsAt: Date.UTC(2026, 11, 22),
    });
  });

  it('needs no fields, no targeting and no times', () => {
    const body = { name: 'n', kind: 'banner', content: 'متن', frequency: 'always' };
    expect(read({ ...body, targeting: null, fields: null, ends_at: null })).toMatchObject({
      definition: { fields: [], url: [] },
      audience: undefined,
      startsAt: undefined,
      endsAt: undefined,
    });
  });

  it('is refused with the reason for which its audience is none', () => {
    const audience = { kinds: [] };
    const body = { ...campaign, targeting: { audience } };
    expect(() => readOnsiteCampaign(body, (sent) => `no kind in ${JSON.stringify(sent)}`)).toThrow(
      'targeting.audience: no kind in {"kinds":[]}',
    );
  });

  const field = (change: object) => ({ fields: [{ name: 'a', type: 'text', ...change }] });
  it.each([
    [{ name: '  ' }, 'name is required: a text'],
    [{ name: 'n'.repeat(201) }, 'name is longer than 200 characters'],
    [{ kind: 'modal' }, 'kind is not one of popup, banner, survey, form'],
    [{ content: null }, 'content is required: what the SDK shows'],
    [{ content: 'x'.repeat(32 * 1024) }, 'content is longer than 32768 bytes of JSON'],
    [{ frequency: 'daily' }, 'frequency is not one of once, session, always'],
    [{ frequency: undefined }, 'frequency is not one of once, session, always'],
    [{ starts_at: 1 }, /^starts_at is not an RFC 3339 time/],
    [{ ends_at: campaign.starts_at }, 'ends_at is not after starts_at'],
    [{ targeting: [] }, 'targeting is not an object'],
    [{ targeting: { url: {} } }, 'targeting.url is not a list of {op, value} conditions'],
    [{ targeting: { url: ['/'] } }, 'targeting.url[0] is not an object'],
    [
      { targeting: { url: [{ op: 'regex', value: '/' }] } },
      'targeting.url[0].op is not one of contains, prefix, equals',
    ],
    [
      { targeting: { url: [{ op: 'equals', value: '' }] } },
      'targeting.url[0].value is not a text of 1 to 2048 bytes',
    ],
    [
      { targeting: { url: Array.from({ length: 51 }, () => ({ op: 'equals', value: '/' })) } },
      'targeting.url has more than 50 conditions',
    ],
    [{ targeting: { audience: 'all' } }, 'targeting.audience is not an object'],
    [{ fields: {} }, 'fields is not a list'],
    [{ fields: Array.from({ length: 51 }, () => ({})) }, 'fields has more than 50 entries'],
    [{ fields: [{}] }, 'fields[0].name is not a text of 1 to 128 bytes'],
    [field({ name: 'answers' }), /^fields\[0\].name: answers is a property of every/],
    [field({ type: 'date' }), 'fields[0].type is not one of text, number, choice, rating'],
    [field({ required: 'yes' }), 'fields[0].required is neither true nor false'],
    [field({ options: ['a'] }), 'fields[0].options: only a field of type choice has options'],
    [field({ type: 'choice' }), 'fields[0].options is required: the texts that can be chosen'],
    [field({ type: 'choice', options: [] }), 'fields[0].options is not a list of 1 to 100 texts'],
    [
      field({ type: 'choice', options: ['a', 1] }),
      'fields[0].options[1] is not a text of 1 to 256 bytes',
    ],
    [
      field({ type: 'choice', options: ['a', 'a'] }),
      'fields[0].options has an option more than once',
    ],
    [{ fields: [...field({}).fields, ...field({}).fields] }, "fields has 'a' more than once"],
  ])('is refused with a text that says what is wrong: %j', (change, text) => {
    expect(refusal({ ...campaign, ...change })).toMatch(text);
  });

  it('is refused when it is no object', () => {
    expect(refusal([])).toBe('the campaign is not a JSON object');
  });
});
