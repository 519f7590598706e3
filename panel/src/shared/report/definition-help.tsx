import { Trans } from '@lingui/react/macro';
import { Disclosure } from '../ui/disclosure.tsx';

/** How a report counts, in a few sentences; docs/reports.md has the exact definitions. */
export function DefinitionHelp({
  report,
}: {
  report: 'funnel' | 'retention' | 'trends' | 'paths';
}) {
  return (
    <Disclosure content={<Trans>چگونه شمرده می‌شود؟</Trans>}>
      {() => (
        <div>
          <Definition report={report} />
        </div>
      )}
    </Disclosure>
  );
}

function Definition({ report }: { report: 'funnel' | 'retention' | 'trends' | 'paths' }) {
  switch (report) {
    case 'funnel':
      return (
        <Trans>
          هر شخص یک بار شمرده می‌شود. گام نخست باید در بازهٔ گزارش باشد و همهٔ گام‌ها در مهلتی که از
          گام نخست آغاز می‌شود. اگر شخص چند راه پیموده باشد، راهی شمرده می‌شود که گام‌های بیشتری
          دارد.
        </Trans>
      );
    case 'retention':
      return (
        <Trans>
          هر گروه کسانی‌اند که رویداد آغاز را در یک دوره انجام داده‌اند. عدد هر خانه می‌گوید چند نفر
          از آنان رویداد بازگشت را در آن دوره انجام داده‌اند.
        </Trans>
      );
    case 'trends':
      return (
        <Trans>
          رویدادهای هر دوره به وقت تهران شمرده می‌شوند. «اشخاص» هر شخص را در هر دوره یک بار
          می‌شمارد. جمع و میانگین تنها مقدارهای عددی ویژگی را در بر می‌گیرند.
        </Trans>
      );
    case 'paths':
      return (
        <Trans>
          مسیر هر شخص از نخستین رویداد آغاز او در بازه شروع می‌شود و رویدادهای بعدی او را در همان
          مهلت می‌شمارد.
        </Trans>
      );
  }
}
