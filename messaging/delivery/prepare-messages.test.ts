import { describe, expect, it } from 'vitest';
import type { Channel } from '../../events/channels/channel-change.ts';
import { TrackingTokens } from '../../events/channels/tracking-token.ts';
import type { MessageRecipient } from '../../platform/tracking/message-recipients.ts';
import type { RenderedContent, Target } from '../providers/provider.ts';
import type { Category, TemplateVersion } from '../templates/template.ts';
import { prepareMessages, type MessagesToPrepare, type PrepareDeps } from './prepare-messages.ts';
import { trackingRef } from './track-email.ts';

const EMPTY: RenderedContent = { subject: '', title: '', text: '', html: '', url: '', data: {} };
const tokens = new TrackingTokens([{ id: 1, bytes: Buffer.alloc(32, 1) }]);
const tracking = { tokens, baseUrl: 'https://in.example.ir' };

const template = (channel: Channel, category: Category = 'transactional'): TemplateVersion => ({
  ...{ templateId: 5, version: 2, accountId: 3, channel, category, content: { text: 'x' } },
});
const device = (id: string, provider: 'fcm' | 'apns'): Target => ({
  ...{ kind: 'device', deviceId: id, provider, token: id },
});
const mail = (address: string): Target => ({ kind: 'email', address });
const phone = (number: string): Target => ({ kind: 'phone', number });

/** Renders "text for NAME"; a person without a name cannot be rendered. */
function deps(more: Partial<PrepareDeps> = {}): PrepareDeps & { stored: MessageRecipient[] } {
  const stored: MessageRecipient[] = [];
  return {
    stored,
    render: (_, variables) =>
      Promise.resolve(
        variables.map(({ user, vars }) =>
          user['name'] === undefined
            ? { error: 'no name' }
            : {
                content: {
                  ...EMPTY,
                  text: `${vars['word'] as string} for ${user['name'] as string}`,
                },
                missing: ['user.city'],
              },
        ),
      ),
    tagLinks: (content, { messageId, utm, channel }) => ({
      ...content,
      url: `${channel} ${messageId} ${utm.source ?? ''}`,
    }),
    shortenLinks: (accountId, contents) =>
      Promise.resolve(contents.map((one) => ({ ...one, text: `${one.text} short ${accountId}` }))),
    tracking,
    addRecipients: (recipients) => {
      stored.push(...recipients);
      return Promise.resolve();
    },
    ...more,
  };
}

const messages = (people: Readonly<Record<string, readonly Target[]>>) =>
  Object.entries(people).map(([name, targets]) => ({
    ...{ messageId: `m-${name}`, userId: name, vars: { word: 'hello' }, event: {} },
    resolved: { targets, profile: name.startsWith('anon') ? {} : { name } },
  }));

const prepare = (
  used: PrepareDeps,
  of: Pick<MessagesToPrepare, 'template' | 'messages'> & Partial<MessagesToPrepare>,
) =>
  prepareMessages(used, {
    ...{ category: of.template.category, provider: 'p', campaignId: 0, expiresAt: 99 },
    ...{ utm: { source: 's' }, ...of },
  });

describe('a prepared message', () => {
  it('is rendered, tagged and addressed to each target that the provider reaches', async () => {
    const people = messages({
      sara: [device('d1', 'fcm'), device('d2', 'apns'), device('d3', 'fcm')],
      ali: [device('d4', 'apns')],
      anon: [device('d5', 'fcm')],
      nobody: [],
    });
    const used = deps();
    const prepared = await prepare(used, {
      ...{ template: template('push'), provider: 'fcm', messages: people },
    });
    expect(prepared).toMatchObject([
      {
        ...{ kind: 'ready', missing: ['user.city'] },
        messages: [device('d1', 'fcm'), device('d3', 'fcm')].map((to) => ({
          ...{ messageId: 'm-sara', to, expiresAt: 99 },
          content: { ...EMPTY, text: 'hello for sara', url: 'push m-sara s' },
        })),
      },
      { kind: 'finish', status: 'skipped', reason: 'no_address' },
      { kind: 'finish', status: 'failed', reason: 'render_failed', detail: 'no name' },
      { kind: 'finish', status: 'skipped', reason: 'no_address' },
    ]);
    expect(used.stored).toEqual([]);
  });

  it('goes to the devices of all senders that are side by side', async () => {
    const targets = [device('d1', 'fcm'), device('d2', 'apns')];
    const of = { template: template('push'), messages: messages({ sara: targets }) };
    for (const [provider, reached] of [
      ['apns+fcm', targets],
      ['apns', targets.slice(1)],
    ] as const) {
      const [prepared] = await prepare(deps(), { ...of, provider });
      expect(prepared).toMatchObject({ messages: reached.map((to) => ({ to })) });
    }
  });

  it('that was not tried waits, and the others of its batch are ready', async () => {
    const { render } = deps();
    const used = deps({
      render: async (...of) => [{ retryAfterMs: 500 }, ...(await render(...of)).slice(1)],
    });
    const prepared = await prepare(used, {
      ...{ template: template('sms'), category: 'marketing' },
      messages: messages({ sara: [phone('1')], ali: [phone('2')] }),
    });
    expect(prepared).toMatchObject([
      { kind: 'later', afterMs: 500 },
      {
        kind: 'ready',
        messages: [{ messageId: 'm-ali', content: { text: 'hello for ali short 3' } }],
      },
    ]);
  });

  it('of e-mail stores what its tokens name before it is handed over', async () => {
    const used = deps();
    const [prepared] = await prepare(used, {
      ...{ template: template('email'), campaignId: 8 },
      messages: messages({ sara: [mail('sara@x.ir')], anon: [mail('anon@x.ir')] }),
    });
    expect(used.stored).toEqual([
      {
        ...{ accountId: 3, ref: trackingRef('m-sara'), userId: 'sara', channel: 'email' },
        ...{ campaignId: 8, messageId: 'm-sara', address: 'sara@x.ir' },
        ...{ category: 'transactional', templateId: 5, variantId: '' },
      },
    ]);
    const [message] = prepared?.kind === 'ready' ? prepared.messages : [];
    const bounced = tokens.read('bounce', message?.email?.bounceLocal ?? '');
    expect(bounced).toEqual({ accountId: 3, ref: trackingRef('m-sara') });
    expect(message?.content.text).toContain('https://in.example.ir/e/u/');
  });

  it('is not ready when what its tokens name cannot be stored', async () => {
    const used = deps({ addRecipients: () => Promise.reject(new Error('down')) });
    const of = { template: template('email'), messages: messages({ sara: [mail('s@x.ir')] }) };
    await expect(prepare(used, of)).rejects.toThrow('down');
  });

  it('of e-mail without the keys of links is sent, unless it is marketing', async () => {
    const used = deps({ tracking: undefined });
    const people = messages({ sara: [mail('s@x.ir')] });
    const transactional = await prepare(used, { template: template('email'), messages: people });
    expect(transactional).toMatchObject([{ messages: [{ content: { text: 'hello for sara' } }] }]);
    const marketing = template('email', 'marketing');
    expect(await prepare(used, { template: marketing, messages: people })).toMatchObject([
      { kind: 'finish', reason: 'channel_not_configured' },
    ]);
  });

  it.each<[Category, string]>([
    ['marketing', 'hello for sara short 3'],
    ['service', 'hello for sara'],
    ['transactional', 'hello for sara'],
  ])('of SMS has short links when it is marketing: %s', async (category, text) => {
    const people = messages({ anon: [phone('+989120000000')], sara: [phone('+989121111111')] });
    const prepared = await prepare(deps(), {
      template: template('sms', category),
      messages: people,
    });
    expect(prepared[1]).toMatchObject({ messages: [{ content: { text } }] });
  });

  it('has a hash of its address that differs between accounts', async () => {
    const people = messages({ sara: [mail('s@x.ir')], ali: [mail('s@x.ir')] });
    const hashes = async (accountId: number) => {
      const of = { ...template('email'), accountId };
      const prepared = await prepare(deps(), { template: of, messages: people });
      return prepared.map((one) => (one.kind === 'ready' ? one.addressHash : ''));
    };
    const [first, second] = await hashes(3);
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    expect(second).toBe(first);
    expect((await hashes(4))[0]).not.toBe(first);
  });
});
