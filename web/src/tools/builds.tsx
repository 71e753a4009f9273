import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import type { BuildReply } from '../../../src/protocol/custom-tools.ts'
import { call, useAnswer } from '../api/call.ts'
import { Badge, type BadgeKind, Button, classes } from '../components/controls.tsx'
import { Empty, Failure, useToasts } from '../components/feedback.tsx'
import { TextField } from '../components/forms.tsx'
import { Icon, type IconName } from '../components/icon.tsx'
import { FieldList, Fold, Screen, Section, When } from '../components/layout.tsx'
import { Link } from '../shell/router.tsx'
import { formatDate } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { type BuildStory, type BuildStoryQuestion, choicesOf, type StoryLine, useBuild } from './build-story.ts'

const states: Record<BuildReply['state'], { name: string; kind: BadgeKind }> = {
  running: { name: t.common.running, kind: 'busy' },
  waiting: { name: t.builds.waiting, kind: 'busy' },
  complete: { name: t.common.done, kind: 'good' },
  failed: { name: t.common.failed, kind: 'bad' },
  stopped: { name: t.common.stopped, kind: 'plain' },
}

function BuildState({ state }: Pick<BuildReply, 'state'>) {
  return <Badge kind={states[state].kind}>{states[state].name}</Badge>
}

/** Builds, newest first; of one capability or of all. */
export function BuildList({ name }: { name?: string }) {
  const { data, error, refresh } = useAnswer('builds.list', { name, limit: 100 }, { everyMs: 5_000 })
  if (error) return <Failure error={error} onRetry={refresh} />
  if (!data) return <p className="breathing text-soft">{t.common.loading}</p>
  if (data.builds.length === 0) {
    return <Empty title={t.builds.noBuildsYet}>{t.builds.buildStartsAskSomething}</Empty>
  }
  return (
    <ul className="divide-y divide-line">
      {data.builds.map((build) => (
        <BuildLine key={build.id} build={build} />
      ))}
    </ul>
  )
}

function BuildLine({ build }: { build: BuildReply }) {
  return (
    <li>
      <Link href={`/capabilities?build=${build.id}`} className="-mx-2 block rounded-lg px-2 py-2.5 hover:bg-sunken">
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="font-medium">{build.name}</span>
          <BuildState state={build.state} />
          <span className="text-xs text-soft">
            {build.kind === 'repair' ? t.builds.repairedAt : t.builds.builtAt} <When at={build.created_at} />
          </span>
        </span>
        <span dir="auto" className="line-clamp-2 block text-sm text-soft">
          {build.description}
        </span>
        {build.error && <span className="block text-sm text-bad">{build.error}</span>}
      </Link>
    </li>
  )
}

const icons: Record<StoryLine['kind'], IconName> = {
  progress: 'chevron_right',
  file: 'block',
  failure: 'close',
  question: 'talk',
  answer: 'people',
  complete: 'check',
  error: 'close',
}

/** The log of a build, newest line last. */
function BuildLines({ lines }: { lines: readonly StoryLine[] }) {
  return (
    <ol aria-label={t.builds.buildLog} className="space-y-1.5 text-sm">
      {lines.map(({ seq, at, kind, text }) => (
        <li
          key={seq}
          className={classes(
            'flex items-start gap-2',
            kind === 'progress' || kind === 'file' ? 'text-soft' : '',
            (kind === 'error' || kind === 'failure') && 'text-bad',
            kind === 'complete' && 'font-medium text-good',
          )}
        >
          <span className="mt-0.5">
            <Icon name={icons[kind]} size={16} />
          </span>
          <span dir="auto" className="min-w-0 flex-1 whitespace-pre-wrap">
            {text}
          </span>
          <time dateTime={at} className="text-xs tabular-nums text-soft">
            {formatDate(at, { timeStyle: 'medium' })}
          </time>
        </li>
      ))}
    </ol>
  )
}

/** A question of a build: for text, or for a secret that goes into the vault and to no model. */
function BuildQuestion({ question }: { question: BuildStoryQuestion }) {
  const toasts = useToasts()
  const [value, setValue] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  const { id, secret } = question
  const isSecret = secret !== null
  const asked = useAnswer('builds.questions', {}).data?.questions.find((one) => one.id === id)

  async function give(words: string): Promise<void> {
    setIsBusy(true)
    try {
      await (isSecret ? call('builds.giveSecret', { id, value: words }) : call('builds.answer', { id, answer: words }))
      setValue('')
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  function submit(event: FormEvent): void {
    event.preventDefault()
    void give(value)
  }

  return (
    <form
      aria-label={isSecret ? t.builds.secretNeeded : t.builds.question}
      className="space-y-2 rounded-xl border border-warn bg-warn-soft p-3"
      onSubmit={submit}
    >
      <p dir="auto" className="whitespace-pre-wrap text-sm">
        {question.question}
      </p>
      {asked?.is_untrusted && <p className="text-sm text-warn">{t.builds.builderReadUntrustedContent}</p>}
      {question.multiple && <p className="text-sm">{question.options.join(' · ')}</p>}
      {!isSecret && choicesOf(question).length > 0 && (
        <div className="flex flex-wrap gap-2">
          {choicesOf(question).map((choice) => (
            <Button key={choice} isBusy={isBusy} onClick={() => void give(choice)}>
              {choice}
            </Button>
          ))}
        </div>
      )}
      <div className="flex flex-wrap items-end gap-2">
        <TextField
          className="min-w-48 flex-1"
          label={isSecret ? t.builds.secret(secret) : t.builds.yourAnswer}
          hint={isSecret ? t.builds.storedEncryptedNoModel : undefined}
          type={isSecret ? 'password' : 'text'}
          autoComplete={isSecret ? 'new-password' : 'off'}
          value={value}
          onChange={(event) => setValue(event.target.value)}
        />
        <Button type="submit" kind="main" isBusy={isBusy} disabled={value.trim() === ''}>
          {isSecret ? t.common.save : t.builds.answer}
        </Button>
      </div>
    </form>
  )
}

function StopBuild({ id }: { id: string }) {
  const toasts = useToasts()
  const [isBusy, setIsBusy] = useState(false)

  async function stop(): Promise<void> {
    setIsBusy(true)
    try {
      const { stopped } = await call('builds.stop', { id })
      toasts.done(stopped ? t.builds.buildStopped : t.builds.alreadyFinished)
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <Button size="small" isBusy={isBusy} onClick={() => void stop()}>
      {t.builds.stopBuild}
    </Button>
  )
}

/** The log of a build with its questions, live. */
function BuildProgress({ id, story, isTall = false }: { id: string; story: BuildStory; isTall?: boolean }) {
  const box = useRef<HTMLDivElement>(null)

  // biome-ignore lint/correctness/useExhaustiveDependencies: the newest line is what one wants to see.
  useEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight
  }, [story.lines.length])

  return (
    <div className="space-y-3">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <div ref={box} tabIndex={0} className={isTall ? '' : 'max-h-60 overflow-y-auto'}>
        <BuildLines lines={story.lines} />
      </div>
      <p className="sr-only" role="status">
        {story.lines.at(-1)?.text}
      </p>
      {story.open.map((question) => (
        <BuildQuestion key={question.id} question={question} />
      ))}
      {story.end === null && (
        <div className="flex items-center justify-between gap-2 text-sm text-soft">
          <span className="breathing">{story.open.length > 0 ? t.builds.waitingAnswer : t.builds.working}</span>
          <StopBuild id={id} />
        </div>
      )}
    </div>
  )
}

/** One build, live. */
export function BuildScreen({ id }: { id: string }) {
  const { data: build, error, refresh } = useAnswer('builds.show', { id }, { everyMs: 3_000 })
  const { story, error: failure } = useBuild(id)
  const back = { href: '/capabilities?tab=builds', label: t.builds.builds }
  if (!build) {
    return (
      <Screen title={t.builds.build} back={back}>
        {error ? (
          <Failure error={error} onRetry={refresh} />
        ) : (
          <p className="breathing text-soft">{t.common.loading}</p>
        )}
      </Screen>
    )
  }
  const { name, kind, state, description, session_id, created_at, ended_at } = build
  return (
    <Screen
      title={`${kind === 'repair' ? t.builds.repairing : t.builds.building} ${name}`}
      intro={description}
      back={back}
    >
      <Section title={t.builds.status}>
        <FieldList
          facts={[
            [t.common.state, <BuildState key="state" state={state} />],
            [t.builds.started, <When key="begun" at={created_at} />],
            [t.builds.ended, ended_at && <When key="ended" at={ended_at} />],
            [
              t.builds.tool,
              <Link
                key="capability"
                href={`/capabilities/${encodeURIComponent(name)}`}
                className="text-accent hover:underline"
              >
                {name}
              </Link>,
            ],
            [
              t.builds.requested,
              session_id && (
                <Link key="session" href={`/talk/${session_id}`} className="text-accent hover:underline">
                  {t.builds.inAConversation}
                </Link>
              ),
            ],
          ]}
        />
      </Section>
      <Section title={t.builds.buildLog}>
        {failure ? <Failure error={failure} /> : <BuildProgress id={id} story={story} isTall />}
      </Section>
    </Screen>
  )
}

/** A build within a conversation: open while it runs, one line when it has ended. */
export function BuildFold(props: { id: string; icon: IconName; title: string; children: ReactNode }) {
  const { id, icon, title, children } = props
  const { story, isLoaded, error } = useBuild(id)
  return (
    <Fold
      icon={icon}
      title={story.end === 'complete' ? t.builds.builtATool : title}
      detail={story.lines.at(-1)?.text ?? ''}
      isActive={isLoaded && story.end === null}
      isBad={story.end === 'error'}
      opensWhileActive
    >
      {error ? <Failure error={error} /> : <BuildProgress id={id} story={story} />}
      <Link href={`/capabilities?build=${id}`} className="mt-2 inline-block text-sm text-accent hover:underline">
        {t.builds.openBuildLog}
      </Link>
      {children}
    </Fold>
  )
}
