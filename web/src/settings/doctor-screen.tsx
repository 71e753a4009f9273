import { useState } from 'react'
import type { DoctorReply } from '../../../src/protocol/status.ts'
import { call, useAnswer } from '../api/call.ts'
import { Badge, Button, CommandLine, classes } from '../components/controls.tsx'
import { Failure, useToasts } from '../components/feedback.tsx'
import { Screen, Section } from '../components/layout.tsx'
import { formatList } from '../strings/format.ts'
import { t } from '../strings/strings.ts'

function FindingRow({ finding }: { finding: DoctorReply['findings'][number] }) {
  const { check, state, message, mend } = finding
  return (
    <li className={classes('rounded-xl border bg-raised px-4 py-3', state === 'fail' ? 'border-bad' : 'border-line')}>
      <div className="flex flex-wrap items-center gap-2">
        <span className="font-medium">{check}</span>
        <Badge kind={state === 'fail' ? 'bad' : 'warn'}>{state === 'fail' ? t.health.error : t.health.warning}</Badge>
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

/** The findings of `familiar doctor` with the command that fixes each. */
export function DoctorScreen() {
  const toasts = useToasts()
  const { data, error, isLoading, refresh, put } = useAnswer('home.doctor', {})
  const [isAsking, setIsAsking] = useState(false)

  async function askOutside(): Promise<void> {
    setIsAsking(true)
    try {
      put(await call('home.examine', { network: true }))
    } catch (cause) {
      toasts.failed(cause)
    } finally {
      setIsAsking(false)
    }
  }

  const problems = data?.findings.filter(({ state }) => state !== 'ok') ?? []
  const sound = data?.findings.filter(({ state }) => state === 'ok') ?? []
  return (
    <Screen
      title={t.health.healthCheck}
      intro={t.health.showsProblemsHowFix}
      actions={
        <>
          <Button isBusy={isAsking} onClick={() => void askOutside()}>
            {t.health.testProviders}
          </Button>
          <Button kind="main" isBusy={isLoading && !isAsking} onClick={refresh}>
            {t.health.runAgain}
          </Button>
        </>
      }
    >
      <p role="status" className="mb-5">
        {!data && !error && <span className="breathing text-soft">{t.health.checkingTakesFewSeconds}</span>}
        {data && summary(data)}
      </p>
      {error && <Failure error={error} onRetry={refresh} />}
      {problems.length > 0 && (
        <Section title={t.health.problems}>
          <ul className="space-y-2">
            {problems.map((finding) => (
              <FindingRow key={`${finding.check} ${finding.message}`} finding={finding} />
            ))}
          </ul>
        </Section>
      )}
      {sound.length > 0 && (
        <Section title={t.health.ok}>
          <ul className="divide-y divide-line rounded-xl border border-line bg-raised">
            {sound.map(({ check, message }) => (
              <li key={`${check} ${message}`} className="grid gap-x-4 px-4 py-2 text-sm sm:grid-cols-[10rem_1fr]">
                <span className="font-medium">{check}</span>
                <span className="text-soft">{message}</span>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </Screen>
  )
}

function summary({ findings }: DoctorReply): string {
  const count = (state: string) => findings.filter((finding) => finding.state === state).length
  const [failed, warned] = [count('fail'), count('warn')]
  if (failed === 0 && warned === 0) return t.health.noProblemsFound
  const parts = [failed > 0 && t.health.errors(failed), warned > 0 && t.health.warnings(warned)]
  return formatList(parts.filter((part) => part !== false))
}
