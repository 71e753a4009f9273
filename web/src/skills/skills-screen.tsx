import { useState } from 'react'
import type { SkillSummaryReply } from '../../../src/protocol/tools.ts'
import { call, type Reply, useAnswer } from '../api/call.ts'
import { Button, CommandLine, classes } from '../components/controls.tsx'
import { Empty, Failure, Notice, useToasts } from '../components/feedback.tsx'
import { Dialog } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { Panel, Screen, Section } from '../components/layout.tsx'
import { Markdown } from '../components/markdown.tsx'
import { useWho } from '../shell/account.tsx'
import { Link, partBehind, usePlace } from '../shell/router.tsx'
import { formatBytes } from '../strings/format.ts'
import { t } from '../strings/strings.ts'

const words = { on: t.skills.on, off: t.common.off, error: t.skills.broken }

function SkillStatus({ skill: { status, is_always } }: { skill: SkillSummaryReply }) {
  return (
    <span
      className={classes(
        'shrink-0 text-sm font-medium',
        status === 'on' ? 'text-good' : status === 'error' ? 'text-bad' : 'text-soft',
      )}
    >
      {words[status]}
      {status === 'on' && is_always && t.skills.alwaysIncluded}
    </span>
  )
}

/** The reason why it is off, without the command, which is shown separately. */
function reasonOf({ problem }: SkillSummaryReply): string | null {
  return problem?.replace(/\s*To [^:]*: familiar skills enable \S+$/, '') ?? null
}

const origins = {
  workspace: t.skills.fromYourWorkspace,
  imported: t.skills.imported,
  directory: t.skills.fromConfiguredFolder,
}

function SkillView({ name }: { name: string }) {
  const toasts = useToasts()
  const { scope } = useWho()
  const { data: skill, error, refresh, put } = useAnswer('skills.show', { name })
  const [isAsking, setIsAsking] = useState(false)

  async function disable(): Promise<void> {
    setIsAsking(false)
    try {
      put(await call('skills.disable', { name }))
      toasts.done(t.skills.turnedOff(name))
    } catch (cause) {
      toasts.failed(cause)
    }
  }

  return (
    <Screen
      title={name}
      intro={skill?.description}
      back={{ href: '/skills', label: t.skills.allSkills }}
      actions={
        skill?.status === 'on' &&
        scope === 'owner' && (
          <Button kind="danger" onClick={() => setIsAsking(true)}>
            {t.common.turnOff}
          </Button>
        )
      }
    >
      {error && <Failure error={error} onRetry={refresh} />}
      {skill && (
        <>
          <p className="mb-4 flex flex-wrap gap-x-3 gap-y-1 text-sm text-soft">
            <SkillStatus skill={skill} />
            <span>{origins[skill.origin]}</span>
            {skill.license && <span>{t.skills.license(skill.license)}</span>}
            {skill.compatibility && <span>{skill.compatibility}</span>}
          </p>
          {skill.status === 'error' && skill.problem && (
            <div className="mb-4">
              <Notice kind="error">{skill.problem}</Notice>
            </div>
          )}
          {skill.status === 'off' && <HowToEnable skill={skill} />}
          {skill.notes.length > 0 && (
            <Section title={t.skills.warnings}>
              <ul className="list-disc space-y-1 ps-5 text-sm">
                {skill.notes.map((note) => (
                  <li key={note}>{note}</li>
                ))}
              </ul>
            </Section>
          )}
          <Section title={t.skills.instructions}>
            <Panel>
              {skill.instructions.trim() === '' ? (
                <p className="text-soft">{t.skills.empty}</p>
              ) : (
                <Markdown text={skill.instructions} />
              )}
            </Panel>
          </Section>
          {skill.files.length > 0 && (
            <Section title={t.common.files}>
              <ul className="space-y-1 font-mono text-sm">
                {skill.files.map(({ path: file, bytes }) => (
                  <li key={file} className="flex justify-between gap-3">
                    <span className="min-w-0">{file}</span>
                    <span className="shrink-0 text-soft">{formatBytes(bytes)}</span>
                  </li>
                ))}
              </ul>
            </Section>
          )}
          <p className="font-mono text-xs text-soft">{skill.directory}</p>
        </>
      )}
      <Dialog isOpen={isAsking} onClose={() => setIsAsking(false)} title={t.skills.turnOff(name)}>
        <p>{t.skills.familiarStopsUsingTurn}</p>
        <div className="mt-4 flex gap-2">
          <Button kind="danger" onClick={() => void disable()}>
            {t.common.turnOff}
          </Button>
          <Button onClick={() => setIsAsking(false)}>{t.common.cancel}</Button>
        </div>
      </Dialog>
    </Screen>
  )
}

/** A skill can instruct the model, so it is approved in a terminal only (SEC-4). */
function HowToEnable({ skill }: { skill: Reply<'skills.show'> }) {
  return (
    <Section title={t.common.turnOn}>
      <p className="mb-2 text-sm text-soft">
        {reasonOf(skill)} {t.skills.readInstructionsBelowThen}
      </p>
      <CommandLine command={`familiar skills enable ${skill.name}`} />
    </Section>
  )
}

/** `/skills`, and `/skills/<name>` for one of them. */
export function SkillsScreen() {
  const { path } = usePlace()
  const name = partBehind(path)
  return name === undefined ? <SkillList /> : <SkillView name={name} />
}

function SkillList() {
  const toasts = useToasts()
  const { scope } = useWho()
  const { data, error, refresh, put } = useAnswer('skills.list', {})

  async function reload(): Promise<void> {
    try {
      put(await call('skills.reload'))
      toasts.done(t.skills.skillsReloaded)
    } catch (cause) {
      toasts.failed(cause)
    }
  }

  return (
    <Screen
      title={t.common.skills}
      intro={t.skills.instructionsCertainTasksFolders}
      actions={scope === 'owner' && <Button onClick={() => void reload()}>{t.skills.reload}</Button>}
    >
      {error && <Failure error={error} onRetry={refresh} />}
      <ul className="space-y-2">
        {data?.skills.map((skill) => (
          <li key={skill.name}>
            <SkillRow skill={skill} />
          </li>
        ))}
      </ul>
      {data?.skills.length === 0 && (
        <Empty title={t.skills.noSkillsYet}>
          <p className="mb-3">{t.skills.skillFolderSkillMd}</p>
          <div className="text-start">
            <CommandLine command="familiar skills new my-skill" />
          </div>
        </Empty>
      )}
    </Screen>
  )
}

function SkillRow({ skill }: { skill: SkillSummaryReply }) {
  return (
    <Link
      href={`/skills/${encodeURIComponent(skill.name)}`}
      className="flex items-center gap-3 rounded-xl border border-line bg-raised px-4 py-3 hover:bg-sunken"
    >
      <span className="min-w-0 flex-1">
        <span className="block font-medium">{skill.name}</span>
        <span className="block text-sm text-soft">{skill.description}</span>
        {skill.problem && <span className="block text-sm text-warn">{reasonOf(skill)}</span>}
      </span>
      <SkillStatus skill={skill} />
      <span className="text-soft">
        <Icon name="chevron_right" size={16} />
      </span>
    </Link>
  )
}
