import { Trans, useLingui } from '@lingui/react/macro';
import { useFormat } from '../../shared/format/use-format.ts';
import { Card } from '../../shared/ui/card.tsx';
import { Empty } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';
import { Tag } from '../../shared/ui/tag.tsx';
import type { Address, Message, Person } from './person.ts';
import styles from './people.module.css';

export function ProfileCard({ person: { profile } }: { person: Person }) {
  const { dateTime, count, decimal } = useFormat();
  if (!profile)
    return (
      <Card title={<Trans>پروفایل</Trans>}>
        <Empty title={<Trans>هنوز پروفایلی نیست</Trans>} />
      </Card>
    );
  const facts = Object.entries({ ...profile.columns, ...profile.traits });
  return (
    <Card title={<Trans>پروفایل</Trans>}>
      <dl className={styles['facts']}>
        <dt>
          <Trans>نخستین رویداد</Trans>
        </dt>
        <dd>{dateTime(Date.parse(profile.first_seen))}</dd>
        <dt>
          <Trans>آخرین رویداد</Trans>
        </dt>
        <dd>{dateTime(Date.parse(profile.last_seen))}</dd>
        <dt>
          <Trans>سفارش‌ها</Trans>
        </dt>
        <dd>{count(profile.orders)}</dd>
        <dt>
          <Trans>درآمد</Trans>
        </dt>
        <dd>{decimal(profile.revenue)}</dd>
        {facts.map(([name, value]) => (
          <Fact key={name} name={name} value={value} />
        ))}
      </dl>
    </Card>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>
        <bdi>{name}</bdi>
      </dt>
      <dd>
        <bdi>{value}</bdi>
      </dd>
    </>
  );
}

export function NamesCard({ person: { names, names_cut } }: { person: Person }) {
  const { t } = useLingui();
  const { dateTime, count } = useFormat();
  return (
    <Card title={<Trans>شناسه‌ها</Trans>}>
      <Table
        label={t`شناسه‌های این شخص`}
        rows={names}
        rowKey={({ name }) => name}
        columns={[
          {
            key: 'name',
            header: <Trans>شناسه</Trans>,
            isRowHeader: true,
            cell: ({ name }) => <bdi>{name}</bdi>,
          },
          {
            key: 'joined',
            header: <Trans>ادغام</Trans>,
            cell: ({ joined_to, joined_at }) =>
              joined_to === null || joined_at === null ? (
                <Trans>شناسهٔ اصلی</Trans>
              ) : (
                <Trans>
                  با <bdi>{joined_to}</bdi>، {dateTime(Date.parse(joined_at))}
                </Trans>
              ),
          },
        ]}
      />
      {names_cut ? (
        <p>
          <Trans>تنها {count(names.length)} شناسهٔ نخست نشان داده می‌شوند.</Trans>
        </p>
      ) : null}
    </Card>
  );
}

export function AddressesCard({ addresses }: { addresses: readonly Address[] }) {
  const { t } = useLingui();
  const { dateTime } = useFormat();
  return (
    <Card title={<Trans>نشانی‌ها</Trans>}>
      {addresses.length === 0 ? (
        <Empty title={<Trans>دستگاه یا گفتگویی ثبت نشده است</Trans>} />
      ) : (
        <Table
          label={t`نشانی‌ها`}
          rows={addresses}
          rowKey={({ channel, address_id }) => `${channel} ${address_id}`}
          columns={[
            {
              key: 'channel',
              header: <Trans>کانال</Trans>,
              isRowHeader: true,
              cell: ({ channel }) => <bdi>{channel}</bdi>,
            },
            {
              key: 'at',
              header: <Trans>ثبت</Trans>,
              cell: ({ registered_at }) => dateTime(Date.parse(registered_at)),
            },
            {
              key: 'state',
              header: <Trans>وضعیت</Trans>,
              cell: ({ reason }) =>
                reason === '' ? (
                  <Tag tone="success">
                    <Trans>فعال</Trans>
                  </Tag>
                ) : (
                  <Tag>
                    <bdi>{reason}</bdi>
                  </Tag>
                ),
            },
          ]}
        />
      )}
    </Card>
  );
}

export function MessagesCard({ messages }: { messages: readonly Message[] }) {
  const { t } = useLingui();
  const { dateTime } = useFormat();
  return (
    <Card title={<Trans>پیام‌ها</Trans>}>
      {messages.length === 0 ? (
        <Empty title={<Trans>پیامی فرستاده نشده است</Trans>} />
      ) : (
        <Table
          label={t`پیام‌ها`}
          rows={messages}
          rowKey={({ message_id }) => message_id}
          columns={[
            {
              key: 'at',
              header: <Trans>زمان</Trans>,
              cell: ({ finished_at }) => dateTime(Date.parse(finished_at)),
            },
            {
              key: 'channel',
              header: <Trans>کانال</Trans>,
              isRowHeader: true,
              cell: ({ channel, is_test }) => (
                <>
                  <bdi>{channel}</bdi>{' '}
                  {is_test ? (
                    <Tag>
                      <Trans>آزمایشی</Trans>
                    </Tag>
                  ) : null}
                </>
              ),
            },
            {
              key: 'status',
              header: <Trans>نتیجه</Trans>,
              cell: ({ status, reason }) => (
                <Tag
                  tone={status === 'sent' ? 'success' : status === 'failed' ? 'danger' : 'plain'}
                >
                  <bdi>{reason === '' ? status : `${status}: ${reason}`}</bdi>
                </Tag>
              ),
            },
          ]}
        />
      )}
    </Card>
  );
}
