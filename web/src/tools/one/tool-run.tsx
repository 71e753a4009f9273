import type { ToolReply, ToolRunReply } from '../../../../src/protocol/tool-api.ts'
import { Failure } from '../../components/notice.tsx'
import { RunForm } from '../form/run-form.tsx'
import { RunResult } from '../form/run-result.tsx'
import { useRun } from '../form/use-run.ts'

/** A tool as Familiar would run it: in the same sandbox, with the same settings. */
export function ToolRun({ tool, path }: { tool: ToolReply; path: string }) {
  const { run, stop, reply, error, isBusy } = useRun<ToolRunReply>(`${path}/run`)
  return (
    <div className="max-w-2xl">
      <RunForm schema={tool.parameters} isBusy={isBusy} onRun={(params) => void run({ params })} onStop={stop} />
      {error && (
        <div className="mt-4">
          <Failure error={error} />
        </div>
      )}
      {reply && <RunResult result={reply} />}
    </div>
  )
}
