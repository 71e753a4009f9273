import { lazy, Suspense, useEffect, useState } from 'react'
import { call, useAnswer } from '../api/call.ts'
import { Button } from '../components/controls.tsx'
import { Notice, useToasts } from '../components/feedback.tsx'
import { Panel, Rich } from '../components/layout.tsx'
import { useIsConnected } from '../models/connection.ts'
import { useWho } from '../shell/account.tsx'
import { Link } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import { focusComposer } from './composer.tsx'

/** Loaded only where no model is connected. */
const ConnectModel = lazy(async () => ({ default: (await import('../models/connect-model.tsx')).ConnectModel }))

const modelsPath = '/models'

/** In every conversation as long as no model answers. */
export function NoModelBanner() {
  const { is_owner } = useWho()
  if (useIsConnected() !== false) return null
  return (
    <div className="px-4 pt-2">
      <Notice kind="warning">
        {t.setup.noModelConnected}{' '}
        {is_owner ? (
          <Link href={modelsPath} className="font-medium underline underline-offset-2">
            {t.setup.connectModel}
          </Link>
        ) : (
          t.setup.askOwner
        )}
      </Notice>
    </div>
  )
}

const sampleTag = 'sample'

/** A few memories to try the search and the questions with, which are removed as easily. */
function Samples({ hasSamples, onChanged }: { hasSamples: boolean; onChanged(): void }) {
  const toasts = useToasts()
  const [isBusy, setIsBusy] = useState(false)

  async function run(change: () => Promise<void>, done: string): Promise<void> {
    setIsBusy(true)
    try {
      await change()
      toasts.done(done)
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
      onChanged()
    }
  }

  async function add(): Promise<void> {
    for (const content of t.setup.samples) await call('memories.add', { content, tags: [sampleTag] })
  }

  async function remove(): Promise<void> {
    const { memories } = await call('memories.list', { tag: sampleTag, limit: 500 })
    for (const { id } of memories) await call('memories.forget', { id })
  }

  return (
    <Button
      size="small"
      kind="quiet"
      isBusy={isBusy}
      onClick={() => void (hasSamples ? run(remove, t.setup.samplesRemoved) : run(add, t.setup.samplesAdded))}
    >
      {hasSamples ? t.setup.removeSamples : t.setup.addSamples}
    </Button>
  )
}

/** The empty chat: connecting a model if none is, and example requests that work in the present state. */
export function Welcome({ onAsk }: { onAsk(text: string): unknown }) {
  const { agent_name } = useWho()
  const isConnected = useIsConnected()
  const known = useAnswer('memories.list', { limit: 1 })
  const samples = useAnswer('memories.list', { tag: sampleTag, limit: 1 })
  const hasSamples = samples.data !== undefined && samples.data.memories.length > 0
  const isNew = known.data !== undefined && known.data.memories.length === 0
  const ideas = [
    ...(hasSamples ? [t.setup.askAllergic, t.setup.askBirthday] : [t.chat.rememberMyPassportExpires]),
    t.chat.remindMeFridayNine,
    ...(isNew ? [t.setup.calculate] : [t.chat.whatDoKnowAbout]),
    ...(isConnected ? [t.chat.buildToolTellsMe] : []),
  ]

  // The form disappears when a model is connected: the next step is a message.
  useEffect(() => {
    if (isConnected) focusComposer()
  }, [isConnected])

  function refresh(): void {
    known.refresh()
    samples.refresh()
  }

  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <div tabIndex={0} className="min-h-0 flex-1 overflow-y-auto outline-none">
      <div className="mx-auto flex min-h-full max-w-xl flex-col justify-center px-4 py-8 sm:px-6">
        <h1 className="text-3xl font-semibold tracking-tight">{t.chat.helloIm(agent_name)}</h1>
        <p className="mt-2 text-soft">
          <Rich text={t.chat.intro} />
        </p>
        {isConnected === false && (
          <Panel className="mt-5">
            <h2 className="font-semibold">{t.setup.connectModel}</h2>
            <p className="mb-3 text-sm text-soft">{t.setup.noModelConnected}</p>
            <Suspense fallback={<p className="breathing text-soft">{t.common.loading}</p>}>
              <ConnectModel />
            </Suspense>
          </Panel>
        )}
        <h2 className="mt-6 text-sm font-medium">{t.setup.tryThis}</h2>
        <ul className="-ms-3 mt-1">
          {ideas.map((idea) => (
            <li key={idea}>
              <button
                type="button"
                className="min-h-9 rounded-lg px-3 py-1.5 text-start text-soft hover:bg-sunken hover:text-ink"
                onClick={() => onAsk(idea)}
              >
                “{idea}”
              </button>
            </li>
          ))}
        </ul>
        {(isNew || hasSamples) && (
          <div className="-ms-2 mt-1">
            <Samples hasSamples={hasSamples} onChanged={refresh} />
          </div>
        )}
      </div>
    </div>
  )
}
