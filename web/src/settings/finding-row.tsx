import type { DoctorReply } from '../../../src/protocol/home-api.ts'
import { Badge } from '../components/badge.tsx'
import { classes } from '../components/classes.ts'
import { CommandLine } from '../components/command-line.tsx'

export function FindingRow({ finding }: { finding: DoctorReply['findings'][number] }) {
  const { check, state, message, mend } = finding
  return (
    <li className={classes('rounded-xl border bg-raised px-4 py-3', state === 'fail' ? 'border-bad' : 'border-line')}>
      <div className="flex flex-wrap items-center gap-2">
        <span className="font-medium">{check}</span>
        <Badge kind={state === 'fail' ? 'bad' : 'warn'}>{state === 'fail' ? 'does not work' : 'could be better'}</Badge>
      </div>
      <p className="text-sm text-soft">{message}</p>
      {mend && (
        <div className="mt-2">
          <CommandLine command={mend} />
        </div>
      )}
    </li>
  )
}
