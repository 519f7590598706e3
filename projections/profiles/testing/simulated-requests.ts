import { profileKey, type Profile } from '../profile.ts';
import type { RefoldRequest, RefoldRequests } from '../refold-requests.ts';

/**
 * profile_refolds of one partition: a request is due until it is applied, and again once no former
 * owner can be at work (`formerOwnersGone`).
 */
export class SimulatedRequests implements RefoldRequests {
  readonly open = new Map<number, RefoldRequest>();
  #lastId = 0;
  formerOwnersGone = false;

  add(requests: readonly { profile: Profile; fromOffset: number }[]): Promise<void> {
    for (const { profile, fromOffset } of requests) {
      const key = profileKey(profile.accountId, profile.distinctId);
      const previous = [...this.open.values()].find(
        (one) => profileKey(one.profile.accountId, one.profile.distinctId) === key,
      );
      if (previous) this.open.delete(previous.id);
      const id = ++this.#lastId;
      this.open.set(id, { id, profile, fromOffset, applied: false });
    }
    return Promise.resolve();
  }

  due(): Promise<RefoldRequest[]> {
    const due = [...this.open.values()].filter(({ applied }) => !applied || this.formerOwnersGone);
    return Promise.resolve(due);
  }

  markApplied(ids: readonly number[]): Promise<void> {
    for (const id of ids) {
      const request = this.open.get(id);
      if (request) this.open.set(id, { ...request, applied: true });
    }
    return Promise.resolve();
  }

  remove(ids: readonly number[]): Promise<void> {
    for (const id of ids) this.open.delete(id);
    return Promise.resolve();
  }
}
