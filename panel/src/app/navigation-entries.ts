import { msg } from '@lingui/core/macro';
import type { MessageDescriptor } from '@lingui/core';
import { PAGES, type PagePath, type PanelPage } from '../../pages.ts';
import type { Permission } from '../../../platform/permissions.ts';
import type { IconName } from '../shared/ui/icon.tsx';

interface Entry {
  to: Exclude<PagePath, `${string}$${string}`>;
  label: MessageDescriptor;
  icon: IconName;
}

interface Group {
  label: MessageDescriptor | undefined;
  entries: readonly Entry[];
}

const GROUPS: readonly Group[] = [
  { label: undefined, entries: [{ to: '/', label: msg`نمای کلی`, icon: 'overview' }] },
];

/** What a member may open, group by group. */
export function navigationFor(permissions: readonly Permission[]): Group[] {
  const mayOpen = ({ to }: Entry) => {
    const page: PanelPage | undefined = PAGES.find(({ path }) => path === to);
    return page?.permission === undefined || permissions.includes(page.permission);
  };
  return GROUPS.map((group) => ({ ...group, entries: group.entries.filter(mayOpen) })).filter(
    ({ entries }) => entries.length > 0,
  );
}
