import { parseIranianMobile } from '../../../events/iran-phone.ts';
import { BoundedMap } from '../../../platform/bounded-map.ts';
import { jsonAnswer, type Receiver, type SandboxRequest } from './receiver.ts';

const MAX_LOCAL_IDS = 10_000;
const MAX_CHARACTERS = 900;
const FIRST_ID = 8_792_343;
/** What Kavenegar answers to its status, in its words. */
const TEXTS: Readonly<Record<number, string>> = {
  200: 'تایید شد',
  400: 'پارامترها ناقص هستند',
  411: 'دریافت کننده نامعتبر است',
  414: 'حجم درخواست بیشتر از حد مجاز است',
};

/**
 * Kavenegar: messages at `/v1/{key}/sms/send.json`. A localid that it has seen sends nothing and
 * answers with the first message. Numbers that end with 0000000 do not exist.
 */
export function kavenegarReceiver(): Receiver {
  const known = new BoundedMap<string, number>(MAX_LOCAL_IDS);
  let lastId = FIRST_ID;
  return {
    handle(request) {
      if (request.method !== 'POST' || !/^\/v1\/[^/]+\/sms\/send\.json$/.test(request.path))
        return jsonAnswer(404, { return: { status: 404, message: 'متد نامشخص است' } });
      const { receptor, text, sender, localId } = formOf(request);
      if (receptor === '' || text === '') return refusal(400);
      if (text.length > MAX_CHARACTERS) return refusal(414);
      if (!parseIranianMobile(receptor) || receptor.endsWith('0000000')) return refusal(411);
      const seen = localId === '' ? undefined : known.get(localId);
      const id = seen ?? ++lastId;
      if (localId !== '') known.set(localId, id);
      const entry = { messageid: id, message: text, status: 1, sender, receptor };
      const accepted = jsonAnswer(200, {
        return: { status: 200, message: TEXTS[200] },
        entries: [{ ...entry, statustext: 'در صف ارسال', cost: 0 }],
      });
      if (seen !== undefined) return accepted;
      return {
        ...accepted,
        message: {
          ...{ channel: 'sms', provider: 'kavenegar', to: receptor, subject: '', title: '' },
          ...{ text, html: '', data: { sender, localid: localId }, headers: {} },
        },
      };
    },
  };
}

function formOf({ body }: SandboxRequest) {
  const form = new URLSearchParams(body.toString());
  const field = (name: string) => form.get(name) ?? '';
  return {
    receptor: field('receptor'),
    text: field('message'),
    sender: field('sender'),
    localId: field('localid'),
  };
}

/** Kavenegar repeats its status as that of HTTP. */
function refusal(status: number): ReturnType<Receiver['handle']> {
  return jsonAnswer(status, { return: { status, message: TEXTS[status] }, entries: null });
}
