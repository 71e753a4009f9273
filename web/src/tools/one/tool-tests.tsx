import type { ToolOwnTestsReply, ToolTestReply } from '../../../../src/protocol/tool-api.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Failure, Notice } from '../../components/notice.tsx'
import { duration } from '../../components/when.tsx'
import { useRun } from '../form/use-run.ts'

/** Whether it has all that it needs, and the tests that it brings along. */
export function ToolTests({ path }: { path: string }) {
  const readiness = useRun<ToolTestReply>(`${path}/test`)
  const tests = useRun<ToolOwnTestsReply>(`${path}/tests`)
  return (
    <div className="max-w-2xl space-y-4">
      <p className="text-soft">
        A tool may bring tests along, in <code className="font-mono text-sm">tests.json</code> of its folder: what it is
        called with, and what must come out. Each runs as a call of its own.
      </p>
      <div className="flex flex-wrap gap-2">
        <Button kind="main" isBusy={tests.isBusy} onClick={() => void tests.run({})}>
          Run its tests
        </Button>
        <Button isBusy={readiness.isBusy} onClick={() => void readiness.run({})}>
          Is everything set?
        </Button>
        {tests.isBusy && <Button onClick={tests.stop}>Stop</Button>}
      </div>
      <div aria-live="polite" className="space-y-3">
        {readiness.error && <Failure error={readiness.error} />}
        {readiness.reply && <Notice kind={readiness.reply.ok ? 'note' : 'warning'}>{readiness.reply.message}</Notice>}
        {tests.error && <Failure error={tests.error} />}
        {tests.reply && <TestResults reply={tests.reply} />}
      </div>
    </div>
  )
}

function TestResults({ reply }: { reply: ToolOwnTestsReply }) {
  const passed = reply.tests.filter(({ ok }) => ok).length
  return (
    <section aria-label="Tests">
      <p className="mb-2 font-medium">
        {passed} of {reply.tests.length} passed
      </p>
      <ul className="divide-y divide-line">
        {reply.tests.map(({ name, ok, failures, duration_ms }) => (
          <li key={name} className="py-2 text-sm">
            <p className="flex flex-wrap items-center gap-2">
              <Badge kind={ok ? 'good' : 'bad'}>{ok ? 'Passed' : 'Failed'}</Badge>
              <span>{name}</span>
              <span className="text-soft">{duration(duration_ms)}</span>
            </p>
            {failures.map((failure) => (
              <p key={failure} className="mt-1 text-bad">
                {failure}
              </p>
            ))}
          </li>
        ))}
      </ul>
    </section>
  )
}
