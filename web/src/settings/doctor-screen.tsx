import { useState } from 'react'
import type { DoctorReply } from '../../../src/protocol/home-api.ts'
import { ask } from '../api/ask.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Button } from '../components/button.tsx'
import { Failure } from '../components/notice.tsx'
import { Screen, Section } from '../components/screen.tsx'
import { useToasts } from '../components/toast.tsx'
import { FindingRow } from './finding-row.tsx'

/** What `familiar doctor` finds, with what would mend it. */
export function DoctorScreen() {
  const toasts = useToasts()
  const { data, error, isLoading, refresh, put } = useAnswer<DoctorReply>('/doctor')
  const [isAsking, setIsAsking] = useState(false)

  async function askOutside(): Promise<void> {
    setIsAsking(true)
    try {
      put(await ask<DoctorReply>('/doctor', { body: { network: true } }))
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
      title="Doctor"
      intro="Looks at everything and changes nothing. Whatever is wrong comes with the one command that would mend it."
      actions={
        <>
          <Button isBusy={isAsking} onClick={() => void askOutside()}>
            Also ask the providers
          </Button>
          <Button kind="main" isBusy={isLoading && !isAsking} onClick={refresh}>
            Look again
          </Button>
        </>
      }
    >
      <p role="status" className="mb-5">
        {!data && !error && <span className="breathing text-soft">It looks. That takes a few seconds.</span>}
        {data && summary(data)}
      </p>
      {error && <Failure error={error} onRetry={refresh} />}
      {problems.length > 0 && (
        <Section title="To look at">
          <ul className="space-y-2">
            {problems.map((finding) => (
              <FindingRow key={`${finding.check} ${finding.message}`} finding={finding} />
            ))}
          </ul>
        </Section>
      )}
      {sound.length > 0 && (
        <Section title="All is well">
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
  if (failed === 0 && warned === 0) return 'Everything is as it should be.'
  const parts = [
    failed > 0 && `${failed} ${failed === 1 ? 'thing does' : 'things do'} not work`,
    warned > 0 && `${warned} could be better`,
  ]
  return `${parts.filter(Boolean).join(', ')}.`
}
