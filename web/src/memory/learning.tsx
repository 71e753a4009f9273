import { type FormEvent, useState } from 'react'
import type { ConsolidateProgressReply, MemoryStatsReply } from '../../../src/protocol/memory.ts'
import { call, callRaw, type Reply, useAnswer } from '../api/call.ts'
import { Button, IconButton } from '../components/controls.tsx'
import { Failure, Notice, useToasts } from '../components/feedback.tsx'
import { Dialog, TextField } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { Section } from '../components/layout.tsx'
import { t } from '../strings/strings.ts'
import { withProgress } from './corrections.tsx'
import { showMoment } from './memory-list.tsx'

/** The conversations that wait to be processed, and a button to process them now. */
export function LearningPanel({ stats, onLearnt }: { stats: MemoryStatsReply; onLearnt(): void }) {
  const { waiting, extraction, consolidation } = stats.learning
  const toasts = useToasts()
  const [progress, setProgress] = useState<ConsolidateProgressReply>()

  async function learn(): Promise<void> {
    setProgress({ done: 0, total: waiting, session: null })
    try {
      const { added, problems } = await withProgress<ConsolidateProgressReply, Reply<'memories.consolidate'>>(
        callRaw('memories.consolidate', {}, { accept: 'text/event-stream' }),
        setProgress,
      )
      const [problem] = problems
      if (problem) toasts.failed(t.storage.learningWasIncomplete(problem.message))
      else toasts.done(t.storage.learnedFactsEpisodesCommitments(added.facts, added.episodes, added.commitments))
      onLearnt()
    } catch (error) {
      toasts.failed(error)
    } finally {
      setProgress(undefined)
    }
  }

  return (
    <Section
      title={t.common.learning}
      actions={
        <Button size="small" isBusy={progress !== undefined} onClick={() => void learn()}>
          {t.storage.learnNow}
        </Button>
      }
    >
      <p className="text-sm text-soft" role="status">
        {progress
          ? t.storage.progress(progress.done, progress.total)
          : waiting === 0
            ? t.storage.allConversationsProcessed
            : t.storage.conversationsToProcess(waiting)}
      </p>
      {[extraction, consolidation].map(
        (trouble) =>
          trouble && (
            <div key={trouble.last.at} className="mt-2">
              <Notice kind="warning">
                {t.storage.learningFailed(trouble.failures, showMoment(trouble.last.at), trouble.last.reason)}
              </Notice>
            </div>
          ),
      )}
    </Section>
  )
}

type Name = Reply<'aliases.list'>['aliases'][number]

/** Names for the same person or thing. */
export function OtherNames() {
  const answer = useAnswer('aliases.list', {})
  const toasts = useToasts()
  const [alias, setAlias] = useState('')
  const [entity, setEntity] = useState('')

  async function change(operation: 'aliases.add' | 'aliases.remove', name: Name): Promise<boolean> {
    try {
      await call(operation, name)
      answer.refresh()
      return true
    } catch (error) {
      toasts.failed(error)
      return false
    }
  }

  async function add(event: FormEvent): Promise<void> {
    event.preventDefault()
    if (!(await change('aliases.add', { alias, entity }))) return
    setAlias('')
    setEntity('')
  }

  async function remove(name: Name): Promise<void> {
    if (!(await change('aliases.remove', name))) return
    toasts.done(t.storage.removedName(name.alias, name.entity), {
      label: t.common.undo,
      run: () => void change('aliases.add', name),
    })
  }

  return (
    <Section title={t.storage.aliases}>
      {answer.error && <Failure error={answer.error} onRetry={answer.refresh} />}
      <ul className="mb-3 flex flex-wrap gap-2 text-sm">
        {answer.data?.aliases.map((name) => (
          <li key={`${name.alias} ${name.entity}`} className="flex items-center rounded-lg bg-sunken ps-3">
            {name.alias} → {name.entity}
            <IconButton label={t.storage.removeName(name.alias, name.entity)} onClick={() => void remove(name)}>
              <Icon name="close" size={14} />
            </IconButton>
          </li>
        ))}
      </ul>
      <form className="flex flex-wrap items-end gap-2" onSubmit={(event) => void add(event)}>
        <TextField
          label={t.common.name}
          className="min-w-36 flex-1"
          placeholder={t.storage.mom}
          maxLength={200}
          value={alias}
          onChange={(event) => setAlias(event.target.value)}
        />
        <TextField
          label={t.storage.alsoKnownAs}
          className="min-w-36 flex-1"
          placeholder={t.storage.ruth}
          maxLength={200}
          value={entity}
          onChange={(event) => setEntity(event.target.value)}
        />
        <Button type="submit" disabled={alias.trim() === '' || entity.trim() === ''}>
          {t.storage.add}
        </Button>
      </form>
    </Section>
  )
}

/** For good: the one thing here without an undo, so it has to be typed twice. */
export function ForgetEverything({ onForgotten }: { onForgotten(): void }) {
  const toasts = useToasts()
  const [about, setAbout] = useState('')
  const [isAsking, setIsAsking] = useState(false)
  const [typed, setTyped] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  const name = about.trim()

  async function forget(event: FormEvent): Promise<void> {
    event.preventDefault()
    setIsBusy(true)
    try {
      const { memories, events } = await call('memories.forgetEverything', { about: name, confirm: true })
      toasts.done(t.storage.deletedPermanentlyMemoriesPlaces(memories, events))
      setAbout('')
      setIsAsking(false)
      onForgotten()
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <Section title={t.storage.deletePermanently}>
      <p className="mb-2 max-w-xl text-sm text-soft">{t.storage.removesNameWordFrom}</p>
      <div className="flex flex-wrap items-end gap-2">
        <TextField
          label={t.storage.nameOrWord}
          className="min-w-52 flex-1"
          maxLength={200}
          value={about}
          onChange={(event) => setAbout(event.target.value)}
        />
        <Button
          kind="danger"
          disabled={name === ''}
          onClick={() => {
            setTyped('')
            setIsAsking(true)
          }}
        >
          {t.storage.deleteEverythingAbout}
        </Button>
      </div>
      <Dialog
        isOpen={isAsking}
        onClose={() => setIsAsking(false)}
        title={t.storage.deletePermanentlyQuestion}
        description={t.storage.removedFromAllMemories}
      >
        <form className="space-y-3" onSubmit={(event) => void forget(event)}>
          <TextField
            label={t.storage.toConfirmType(name)}
            autoComplete="off"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
          <Button type="submit" kind="danger" isBusy={isBusy} disabled={typed.trim() !== name}>
            {t.storage.deleteEverythingAboutName(name)}
          </Button>
        </form>
      </Dialog>
    </Section>
  )
}
