import type { CapabilityReply, CapabilityRunReply } from '../../../../src/protocol/capability-api.ts'
import { Empty, Failure, Notice } from '../../components/notice.tsx'
import { RunForm } from '../../tools/form/run-form.tsx'
import { RunResult } from '../../tools/form/run-result.tsx'
import { useRun } from '../../tools/form/use-run.ts'

/** A capability as a model would call it. */
export function CapabilityRun({ capability, path }: { capability: CapabilityReply; path: string }) {
  const { run, stop, reply, error, isBusy } = useRun<CapabilityRunReply>(`${path}/run`)
  if (capability.version === null) return <Empty title="There is nothing to run yet">It is not built.</Empty>
  return (
    <div className="max-w-2xl">
      <RunForm schema={capability.input_schema} isBusy={isBusy} onRun={(args) => void run({ args })} onStop={stop} />
      {error && (
        <div className="mt-4">
          <Failure error={error} />
        </div>
      )}
      {reply && <RunResult result={reply} />}
      {reply && reply.refused_hosts.length > 0 && (
        <div className="mt-3">
          <Notice kind="warning">
            It wanted to reach {reply.refused_hosts.join(', ')}, which it does not declare, and was not let through.
          </Notice>
        </div>
      )}
    </div>
  )
}
