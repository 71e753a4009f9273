import { type FormEvent, useState } from 'react'
import type { CapabilityReply } from '../../../src/protocol/custom-tools.ts'
import { call, type Reply, useAnswer } from '../api/call.ts'
import { CodeBlock } from '../components/code.tsx'
import { Badge, Button, CommandLine } from '../components/controls.tsx'
import { Empty, Failure, Notice, useToasts } from '../components/feedback.tsx'
import { Dialog, TextArea, TextField } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { duration, Screen, Section, timeAgo } from '../components/layout.tsx'
import { Markdown } from '../components/markdown.tsx'
import { Tabs } from '../components/tabs.tsx'
import { go, useQueryValue } from '../shell/router.tsx'
import { formatList } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { BuildList } from './builds.tsx'
import { CapabilityCode, CapabilityVersions } from './built-tool-versions.tsx'
import { CapabilityStateLabel, originNames } from './built-tools-screen.tsx'
import { RunForm, RunResult, useRun } from './run-form.tsx'
import { FigureRow } from './tool-parts.tsx'
import { CallList } from './tool-screen.tsx'

type Secret = CapabilityReply['permissions']['secrets'][number]

/** Its permissions in a sentence each, and its secrets, which can be set but never read. */
function CapabilityPermissions({ capability }: { capability: CapabilityReply }) {
  const { hosts, secrets, storage } = capability.permissions
  return (
    <ul className="space-y-2 text-sm">
      <Line isAllowed={hosts.length > 0}>
        {hosts.length > 0 ? t.builtTools.networkAccess(formatList(hosts)) : t.builtTools.noNetworkAccess}
      </Line>
      <Line isAllowed={storage}>{storage ? t.builtTools.keepsDataBetweenCalls : t.builtTools.noStorage}</Line>
      {secrets.length === 0 && <Line isAllowed={false}>{t.builtTools.noSecrets}</Line>}
      {secrets.map((secret) => (
        <li key={secret.name}>
          <SecretForm secret={secret} name={capability.name} />
        </li>
      ))}
    </ul>
  )
}

function Line({ isAllowed, children }: { isAllowed: boolean; children: string }) {
  return (
    <li className="flex items-start gap-2">
      <span className="mt-0.5 text-soft">
        <Icon name={isAllowed ? 'check' : 'close'} size={16} />
      </span>
      {children}
    </li>
  )
}

function SecretForm({ secret, name }: { secret: Secret; name: string }) {
  const toasts = useToasts()
  const [value, setValue] = useState('')
  const [isSet, setIsSet] = useState(secret.is_set)
  const [isBusy, setIsBusy] = useState(false)

  async function give(event: FormEvent): Promise<void> {
    event.preventDefault()
    setIsBusy(true)
    try {
      const { was_awaited } = await call('capabilities.setSecret', { name, key: secret.name, value })
      setValue('')
      setIsSet(true)
      toasts.done(was_awaited ? t.builtTools.savedBuildContinues(secret.name) : t.builtTools.saved(secret.name))
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <form className="max-w-xl" onSubmit={(event) => void give(event)}>
      <p className="mb-1 flex items-start gap-2">
        <span className="mt-0.5 text-soft">
          <Icon name="lock" size={16} />
        </span>
        <span className="min-w-0 flex-1">
          {t.builtTools.secret} <code className="font-mono">{secret.name}</code>
          {secret.description && <span className="text-soft">, {secret.description}</span>}
        </span>
        <Badge kind={isSet ? 'good' : 'warn'}>{isSet ? t.builtTools.set : t.builtTools.missing}</Badge>
      </p>
      <div className="flex items-center gap-2 ps-6">
        <TextField
          label={t.builtTools.secretName(secret.name)}
          isLabelHidden
          className="flex-1"
          type="password"
          autoComplete="new-password"
          placeholder={isSet ? t.builtTools.enterNewValueReplace : t.builtTools.enterValueShownAgain}
          value={value}
          onChange={(event) => setValue(event.target.value)}
        />
        <Button type="submit" isBusy={isBusy} disabled={value === ''}>
          {t.common.save}
        </Button>
      </div>
    </form>
  )
}

function AboutCapability({ capability }: { capability: CapabilityReply }) {
  const { name, statistics, asked_as, tags } = capability
  const { data } = useAnswer('capabilities.files', capability.version === null ? null : { name })
  const textOf = (name: string) => data?.files.find((file) => file.path === name)?.text
  const runMd = textOf('RUN.md')
  const examples = textOf('examples.json')
  return (
    <>
      <FigureRow
        figures={[
          [t.common.calls, String(statistics.calls)],
          [t.common.failed, String(statistics.failures)],
          [t.builtTools.typicalDuration, statistics.median_ms === null ? '–' : duration(statistics.median_ms)],
          [
            t.builtTools.lastCall,
            statistics.last_called_at ? timeAgo(Date.parse(statistics.last_called_at), Date.now()) : t.builtTools.never,
          ],
        ]}
      />
      {statistics.last_error && (
        <p className="mb-6 text-sm text-bad">{t.builtTools.lastError(statistics.last_error)}</p>
      )}
      <Section title={t.builtTools.permissions}>
        <CapabilityPermissions capability={capability} />
      </Section>
      {runMd && (
        <Section title={t.builtTools.usage}>
          <Markdown text={runMd} />
        </Section>
      )}
      {asked_as.length > 0 && (
        <Section title={t.builtTools.exampleRequests}>
          <ul className="list-disc space-y-1 ps-5 text-sm text-soft">
            {asked_as.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        </Section>
      )}
      {examples && (
        <Section title={t.builtTools.tests}>
          <CodeBlock code={pretty(examples)} language="examples.json" />
        </Section>
      )}
      <Section title={t.builtTools.input}>
        <p className="mb-2 text-sm text-soft">
          {t.builtTools.toolName} <code className="font-mono">{capability.tool}</code>
          {tags.length > 0 && t.builtTools.tags(formatList(tags))}.
        </p>
        <CodeBlock code={JSON.stringify(capability.input_schema, null, 2)} language="JSON Schema" />
      </Section>
    </>
  )
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

interface CapabilityActionsProps {
  capability: CapabilityReply
  onChange(capability: CapabilityReply): void
  onRefresh(): void
}

/** Turning the tool on and off, and repairing it. */
function CapabilityActions({ capability, onChange, onRefresh }: CapabilityActionsProps) {
  const toasts = useToasts()
  const [isBusy, setIsBusy] = useState(false)
  const [isRepairing, setIsRepairing] = useState(false)
  const { name, state, version, needs_approval } = capability

  async function set(isOn: boolean): Promise<void> {
    setIsBusy(true)
    try {
      onChange(await call(isOn ? 'capabilities.enable' : 'capabilities.disable', { name }))
      if (isOn) toasts.done(t.builtTools.turnedOn(name))
      // An imported tool can be turned on only in a terminal of this machine.
      else toasts.done(t.builtTools.turnedOff(name), capability.origin === 'imported' ? undefined : undo)
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }
  const undo = { label: t.common.undo, run: () => void set(true) }

  return (
    <>
      {version !== null && state !== 'building' && !needs_approval && (
        <Button onClick={() => setIsRepairing(true)}>{t.builtTools.repair}</Button>
      )}
      {version !== null && state === 'disabled' && !needs_approval && (
        <Button kind="main" isBusy={isBusy} onClick={() => void set(true)}>
          {t.common.turnOn}
        </Button>
      )}
      {version !== null && state !== 'disabled' && (
        <Button kind="danger" isBusy={isBusy} onClick={() => void set(false)}>
          {t.common.turnOff}
        </Button>
      )}
      <RepairDialog
        name={name}
        isOpen={isRepairing}
        onClose={() => {
          setIsRepairing(false)
          onRefresh()
        }}
      />
    </>
  )
}

function RepairDialog({ name, isOpen, onClose }: { name: string; isOpen: boolean; onClose(): void }) {
  const toasts = useToasts()
  const [problem, setProblem] = useState('')
  const [isBusy, setIsBusy] = useState(false)

  async function repair(event: FormEvent): Promise<void> {
    event.preventDefault()
    setIsBusy(true)
    try {
      const build = await call('capabilities.repair', { name, problem: problem.trim() || undefined })
      onClose()
      go(`/capabilities?build=${build.id}`)
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title={t.builtTools.repair}
      description={t.builtTools.newVersionWrittenTested}
    >
      <form className="space-y-3" onSubmit={(event) => void repair(event)}>
        <TextArea
          label={t.builtTools.whatIsWrong}
          hint={t.builtTools.optionalLastErrorKnown}
          maxLength={4_000}
          value={problem}
          onChange={(event) => setProblem(event.target.value)}
        />
        <Button type="submit" kind="main" isBusy={isBusy}>
          {t.builtTools.start}
        </Button>
      </form>
    </Dialog>
  )
}

/** A capability as a model would call it. */
function CapabilityRun({ capability }: { capability: CapabilityReply }) {
  const { name } = capability
  const { run, stop, reply, error, isBusy } = useRun<Reply<'capabilities.run'>>()
  if (capability.version === null) return <Empty title={t.builtTools.nothingRunYet}>{t.builtTools.toolBuiltYet}</Empty>
  return (
    <div className="max-w-2xl">
      <RunForm
        schema={capability.input_schema}
        isBusy={isBusy}
        onRun={(args) => void run((signal) => call('capabilities.run', { name, args }, { signal }))}
        onStop={stop}
      />
      {error && (
        <div className="mt-4">
          <Failure error={error} />
        </div>
      )}
      {reply && <RunResult result={reply} />}
      {reply && reply.refused_hosts.length > 0 && (
        <div className="mt-3">
          <Notice kind="warning">{t.builtTools.triedReachDoesDeclare(formatList(reply.refused_hosts))}</Notice>
        </div>
      )}
    </div>
  )
}

/** One built tool: description, permissions, code and versions. */
export function CapabilityScreen({ name }: { name: string }) {
  const { data: capability, error, refresh, put } = useAnswer('capabilities.show', { name }, { everyMs: 10_000 })
  const [tab, setTab] = useQueryValue('tab', 'about')
  const back = { href: '/capabilities', label: t.common.builtTools }
  if (!capability) {
    return (
      <Screen title={name} back={back}>
        {error ? (
          <Failure error={error} onRetry={refresh} />
        ) : (
          <p className="breathing text-soft">{t.common.loading}</p>
        )}
      </Screen>
    )
  }
  const { version, problem, needs_approval } = capability
  const part = { capability, onChange: put }
  return (
    <Screen
      title={name}
      intro={capability.description}
      back={back}
      actions={<CapabilityActions {...part} onRefresh={refresh} />}
    >
      <div className="mb-4 space-y-3">
        <p className="flex flex-wrap items-center gap-2 text-sm text-soft">
          <CapabilityStateLabel capability={capability} />
          <span>{originNames[capability.origin]}</span>
          {version !== null && <span>{t.builtTools.version(version)}</span>}
        </p>
        {problem && <Notice kind={capability.state === 'failed' ? 'error' : 'warning'}>{problem}</Notice>}
        {needs_approval && (
          <>
            <Notice kind="warning">{t.builtTools.toolImportedCheckPermissions}</Notice>
            <CommandLine command={`familiar caps enable ${name}`} />
          </>
        )}
      </div>
      <Tabs
        label={name}
        value={tab}
        onChange={setTab}
        tabs={[
          { name: 'about', label: t.common.about, content: <AboutCapability capability={capability} /> },
          { name: 'code', label: t.builtTools.code, content: <CapabilityCode capability={capability} /> },
          { name: 'versions', label: t.builtTools.versions, content: <CapabilityVersions {...part} /> },
          { name: 'run', label: t.builtTools.tryIt, content: <CapabilityRun capability={capability} /> },
          { name: 'calls', label: t.common.calls, content: <CallList of="capabilities.calls" name={name} /> },
          { name: 'builds', label: t.builtTools.builds, content: <BuildList name={name} /> },
        ]}
      />
    </Screen>
  )
}
