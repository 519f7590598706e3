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
  {
    label: undefined,
    entries: [
      { to: '/', label: msg`نمای کلی`, icon: 'overview' },
      { to: '/live', label: msg`رویدادهای زنده`, icon: 'live' },
    ],
  },
  {
    label: msg`گزارش‌ها`,
    entries: [
      { to: '/reports/funnel', label: msg`قیف`, icon: 'funnel' },
      { to: '/reports/retention', label: msg`بازگشت`, icon: 'retention' },
      { to: '/reports/trends', label: msg`روندها`, icon: 'trends' },
      { to: '/reports/paths', label: msg`مسیرها`, icon: 'paths' },
      { to: '/dashboards', label: msg`داشبوردها`, icon: 'dashboard' },
      { to: '/reports/saved', label: msg`ذخیره‌شده‌ها`, icon: 'bookmark' },
    ],
  },
  {
    label: msg`مخاطبان`,
    entries: [
      { to: '/segments', label: msg`سگمنت‌ها`, icon: 'people' },
      { to: '/campaigns', label: msg`کمپین‌ها`, icon: 'send' },
      { to: '/templates', label: msg`قالب‌ها`, icon: 'template' },
      { to: '/onsite', label: msg`درون سایت`, icon: 'window' },
      { to: '/links', label: msg`پیوندهای کوتاه`, icon: 'shorten' },
    ],
  },
  {
    label: msg`داده`,
    entries: [
      { to: '/quality', label: msg`کیفیت داده`, icon: 'check' },
      { to: '/on-call', label: msg`آماده‌باش`, icon: 'warning' },
      { to: '/integrations', label: msg`اتصال‌ها`, icon: 'link' },
      { to: '/exports', label: msg`خروجی‌ها`, icon: 'download' },
    ],
  },
  {
    label: msg`حساب`,
    entries: [
      { to: '/settings', label: msg`تنظیمات`, icon: 'settings' },
      { to: '/settings/members', label: msg`اعضا`, icon: 'person' },
      { to: '/settings/keys', label: msg`کلیدها`, icon: 'key' },
      { to: '/settings/usage', label: msg`مصرف و سهمیه`, icon: 'gauge' },
      { to: '/settings/audit', label: msg`گزارش تغییرات`, icon: 'list' },
    ],
  },
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
