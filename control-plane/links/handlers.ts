import Type from 'typebox';
import { isShortLinkTarget, MAX_TARGET_BYTES, shortLinkCode } from '../../events/short-link.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import { readBody } from '../routes/read-body.ts';
import type { MemberRequest, Services } from '../routes/route.ts';
import { actorOf } from '../sessions/authenticate.ts';
import { MAX_LINKS } from './link-store.ts';

const LinkBody = Type.Object({ target: Type.String() });
const SHOWN = 500;

/** GET /v1/links: those that people made, newest first; `url` is null without a public address. */
export async function listLinks(
  { caller }: MemberRequest,
  { links, shortLinkBase }: Services,
): Promise<Answer> {
  const list = await links.list(caller.account.id, SHOWN);
  return answer({
    links: list.map((link) => ({ ...link, url: urlOf(link.code, shortLinkBase) })),
  });
}

/** POST /v1/links: 201, or 200 for a link that is stored already (ingest 4.7). */
export async function createLink(
  { caller, body }: MemberRequest,
  { links, shortLinkBase }: Services,
): Promise<Answer> {
  const read = readBody(LinkBody, body);
  if (!read.ok) return read;
  const { target } = read.value;
  if (!isShortLinkTarget(target) || target.includes('sg_mid='))
    return refuse('invalid_request', {
      message: `target must be an http:// or https:// address without spaces, at most ${MAX_TARGET_BYTES} bytes`,
    });
  const code = shortLinkCode(caller.account.id, target);
  const made = await links.create(actorOf(caller), { code, target });
  switch (made) {
    case 'taken':
      return refuse('invalid_request', {
        message: `the code of this target leads elsewhere: add something that makes no difference, such as ?l=1`,
      });
    case 'full':
      return refuse('invalid_request', { message: `an account has at most ${MAX_LINKS} links` });
    default: {
      const url = urlOf(code, shortLinkBase);
      return answer({ code, target, url }, { status: made === 'created' ? 201 : 200 });
    }
  }
}

function urlOf(code: string, base: string): string | null {
  return base === '' ? null : `${base.replace(/\/+$/, '')}/s/${code}`;
}
