import { useState } from 'react'
import type { ToolCallReply, ToolReply, ToolRunReply, TriggerRunReply } from '../../../src/protocol/tools.ts'
import { call, type Reply, useAnswer } from '../api/call.ts'
import { CodeBlock } from '../components/code.tsx'
import { Badge, type BadgeKind, Button, CommandLine } from '../components/controls.tsx'
import { Empty, Failure, Notice, useToasts } from '../components/feedback.tsx'
import { Dialog } from '../components/forms.tsx'
import { duration, FieldList, Rich, Screen, Section, When } from '../components/layout.tsx'
import { type Tab, Tabs } from '../components/tabs.tsx'
import { useWho } from '../shell/account.tsx'
import { Link, useQueryValue } from '../shell/router.tsx'
import { formatList } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { RunForm, RunResult, useRun } from './run-form.tsx'
import {
  callFigures,
  FigureRow,
  outcomeNames,
  ToolStatus,
  toolKindNames,
  toolsPath,
  triggerNames,
} from './tool-parts.tsx'
import { ToolSettingsForm } from './tool-settings.tsx'

const callers: Record<ToolCallReply['caller'], string> = {
  turn: t.tools.inAConversation,
  user: t.tools.manually,
  cron: t.tools.bySchedule,
  webhook: t.tools.byWebhookTitle,
}

/** The newest calls of a tool, with totals. */
export function CallList({ of, name }: { of: 'tools.calls' | 'capabilities.calls'; name: string }) {
  const { data, error, refresh } = useAnswer(of, { name, limit: 200 }, { everyMs: 10_000 })
  if (error) return <Failure error={error} onRetry={refresh} />
  if (!data) return <p className="breathing text-soft">{t.common.loading}</p>
  if (data.calls.length === 0) {
    return <Empty title={t.tools.noCallsYet}>{t.tools.everyCallToolListed}</Empty>
  }
  const { calls, failures, medianMs } = callFigures(data.calls)
  return (
    <>
      <FigureRow
        figures={[
          [t.common.calls, String(calls)],
          [t.common.failed, String(failures)],
          [t.tools.typicalDuration, medianMs === null ? '–' : duration(medianMs)],
        ]}
      />
      <ul className="divide-y divide-line">
        {data.calls.map((call) => (
          <li key={call.id} className="py-2.5 text-sm">
            <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
              <Badge kind={call.outcome === 'succeeded' ? 'good' : 'bad'}>{outcomeNames[call.outcome]}</Badge>
              <When at={call.at} />
              <span className="text-soft">{duration(call.duration_ms)}</span>
              {call.session_id ? (
                <Link href={`/talk/${call.session_id}`} className="text-accent hover:underline">
                  {callers[call.caller]}
                </Link>
              ) : (
                <span className="text-soft">{callers[call.caller]}</span>
              )}
              {call.driver && <span className="text-soft">{call.driver}</span>}
            </p>
            {call.error && <p className="mt-1 whitespace-pre-wrap text-bad">{call.error}</p>}
          </li>
        ))}
      </ul>
    </>
  )
}

function AboutTool({ tool }: { tool: ToolReply }) {
  const { limits, refused_hosts } = tool
  const isFolder = tool.kind === 'contract'
  return (
    <>
      <Section title={t.common.about}>
        <FieldList
          facts={[
            [t.common.kind, toolKindNames[tool.kind]],
            [t.common.version, tool.version],
            [t.common.category, tool.category],
            [t.tools.runs, triggerNames[tool.trigger]],
            [t.tools.folder, tool.directory && <code className="font-mono text-[0.8125rem]">{tool.directory}</code>],
          ]}
        />
        {tool.notes.map((note) => (
          <div key={note} className="mt-3">
            <Notice>{note}</Notice>
          </div>
        ))}
      </Section>
      {isFolder && (
        <Section title={t.tools.permissions}>
          <FieldList
            facts={[
              [t.tools.network, networkOf(tool)],
              [t.common.memory, limits && t.tools.upToMb(Math.round(limits.memory_bytes / 1024 ** 2))],
              [t.tools.time, limits && t.tools.upTo(duration(limits.timeout_ms))],
              [t.tools.processes, limits && t.tools.upTo(limits.processes)],
              [t.tools.itsFolder, limits && (limits.is_writable ? t.tools.writable : t.tools.readOnly)],
              [t.common.settings, tool.reads_argument && t.tools.passedInput],
            ]}
          />
          {refused_hosts.length > 0 && (
            <div className="mt-3 space-y-2">
              <Notice kind="warning">{t.tools.triedReachBlockedAllow(formatList(refused_hosts))}</Notice>
              <CommandLine command={`familiar tools allow ${tool.name} ${refused_hosts.join(' ')}`} />
            </div>
          )}
        </Section>
      )}
      <Section title={t.tools.input}>
        <CodeBlock code={JSON.stringify(tool.parameters, null, 2)} language="JSON Schema" />
      </Section>
    </>
  )
}

function networkOf({ network }: ToolReply): string {
  const hosts = [...new Set([...network.declared, ...network.allowed])]
  if (network.mode === 'none') return t.tools.noNetworkAccess
  if (network.mode === 'host') return t.tools.accessLocalNetwork
  return hosts.length > 0 ? t.tools.only(formatList(hosts)) : t.tools.noHostsAllowedYet
}

/** A tool as Familiar would run it: in the same sandbox, with the same settings. */
function ToolRun({ tool }: { tool: ToolReply }) {
  const { name, parameters } = tool
  const { run, stop, reply, error, isBusy } = useRun<ToolRunReply>()
  return (
    <div className="max-w-2xl">
      <RunForm
        schema={parameters}
        isBusy={isBusy}
        onRun={(params) => void run((signal) => call('tools.run', { name, params }, { signal }))}
        onStop={stop}
      />
      {error && (
        <div className="mt-4">
          <Failure error={error} />
        </div>
      )}
      {reply && <RunResult result={reply} />}
    </div>
  )
}

/** The webhook secret. It is created here and shown once. */
function HookSecret({ name }: { name: string }) {
  const toasts = useToasts()
  const [step, setStep] = useState<'asking' | Reply<'triggers.makeSecret'>>()
  const made = typeof step === 'object' ? step : undefined

  async function make(): Promise<void> {
    try {
      setStep(await call('triggers.makeSecret', { name }))
    } catch (error) {
      toasts.failed(error)
    }
  }

  return (
    <div className="mb-5 flex flex-wrap items-center justify-between gap-3">
      <p className="text-sm text-soft">{t.tools.webhookRequestsSignedSecret}</p>
      <Button onClick={() => setStep('asking')}>{t.tools.createSecret}</Button>
      <Dialog
        isOpen={step !== undefined}
        onClose={() => setStep(undefined)}
        title={made ? t.tools.copySecretNowShown : t.tools.createNewSecret}
      >
        {made ? (
          <div className="space-y-3 text-sm">
            <CommandLine command={made.secret} />
            <p className="text-soft">
              <Rich text={t.tools.webhookHelp(location.origin + made.path)} />
            </p>
            <Button onClick={() => setStep(undefined)}>{t.common.done}</Button>
          </div>
        ) : (
          <div className="space-y-4">
            <p className="text-soft">{t.tools.previousSecretStopsWorking}</p>
            <div className="flex gap-2">
              <Button kind="main" onClick={() => void make()}>
                {t.common.create}
              </Button>
              <Button onClick={() => setStep(undefined)}>{t.common.cancel}</Button>
            </div>
          </div>
        )}
      </Dialog>
    </div>
  )
}

const states: Record<TriggerRunReply['state'], { name: string; kind: BadgeKind }> = {
  scheduled: { name: t.tools.scheduled, kind: 'plain' },
  running: { name: t.common.running, kind: 'busy' },
  done: { name: t.common.done, kind: 'good' },
  failed: { name: t.common.failed, kind: 'bad' },
  missed: { name: t.tools.missed, kind: 'warn' },
}

/** Past, missed and next runs by schedule or webhook. */
function ToolRuns({ tool }: { tool: ToolReply }) {
  const { data, error, refresh } = useAnswer('triggers.runs', { name: tool.name }, { everyMs: 10_000 })
  return (
    <>
      {tool.trigger === 'webhook' && <HookSecret name={tool.name} />}
      {error && <Failure error={error} onRetry={refresh} />}
      {data?.runs.length === 0 && <Empty title={t.tools.noRunsYet}>{t.tools.runsScheduleWebhookListed}</Empty>}
      <ul className="divide-y divide-line">
        {data?.runs.map((run) => (
          <li key={run.id} className="py-2.5 text-sm">
            <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
              <Badge kind={states[run.state].kind}>{states[run.state].name}</Badge>
              <When at={run.started_at ?? run.due_at} />
              <span className="text-soft">{run.kind === 'cron' ? t.tools.bySchedule : t.tools.byWebhookTitle}</span>
              {run.is_late && <span className="text-warn">{t.tools.late}</span>}
            </p>
            {run.error && <p className="mt-1 text-bad">{run.error}</p>}
          </li>
        ))}
      </ul>
    </>
  )
}

/** Turns a tool off or on for all users. Turning it on also approves one that changed. */
function ToolSwitch({ tool, onChange }: { tool: ToolReply; onChange(tool: ToolReply): void }) {
  const toasts = useToasts()
  const { is_owner } = useWho()
  const [isBusy, setIsBusy] = useState(false)
  if (tool.kind !== 'contract' || !is_owner) return null

  async function set(isOn: boolean): Promise<void> {
    setIsBusy(true)
    try {
      onChange(await call(isOn ? 'tools.enable' : 'tools.disable', { name: tool.name }))
      if (isOn) toasts.done(t.tools.turnedOn(tool.name))
      else toasts.done(t.tools.turnedOff(tool.name), { label: t.common.undo, run: () => void set(true) })
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  return tool.status === 'disabled' ? (
    <Button kind="main" isBusy={isBusy} onClick={() => void set(true)}>
      {t.common.turnOn}
    </Button>
  ) : (
    <Button kind="danger" isBusy={isBusy} onClick={() => void set(false)}>
      {t.common.turnOff}
    </Button>
  )
}

/** Whether it has all that it needs, and the tests that it brings along. */
function ToolTests({ name }: { name: string }) {
  const readiness = useRun<Reply<'tools.test'>>()
  const tests = useRun<Reply<'tools.ownTests'>>()
  const runTests = () => tests.run((signal) => call('tools.ownTests', { name }, { signal }))
  const check = () => readiness.run((signal) => call('tools.test', { name }, { signal }))
  return (
    <div className="max-w-2xl space-y-4">
      <p className="text-soft">
        <Rich text={t.tools.testsHelp} />
      </p>
      <div className="flex flex-wrap gap-2">
        <Button kind="main" isBusy={tests.isBusy} onClick={() => void runTests()}>
          {t.tools.runTests}
        </Button>
        <Button isBusy={readiness.isBusy} onClick={() => void check()}>
          {t.tools.checkSetup}
        </Button>
        {tests.isBusy && <Button onClick={tests.stop}>{t.common.stop}</Button>}
      </div>
      <div aria-live="polite" className="space-y-3">
        {readiness.error && <Failure error={readiness.error} />}
        {readiness.reply && <Notice kind={readiness.reply.ok ? 'note' : 'warning'}>{readiness.reply.message}</Notice>}
        {tests.error && <Failure error={tests.error} />}
        {tests.reply && <TestResults reply={tests.reply} />}
      </div>
    </div>
  )
}

function TestResults({ reply }: { reply: Reply<'tools.ownTests'> }) {
  const passed = reply.tests.filter(({ ok }) => ok).length
  return (
    <section aria-label={t.tools.tests}>
      <p className="mb-2 font-medium">{t.tools.ofPassed(passed, reply.tests.length)}</p>
      <ul className="divide-y divide-line">
        {reply.tests.map(({ name, ok, failures, duration_ms }) => (
          <li key={name} className="py-2 text-sm">
            <p className="flex flex-wrap items-center gap-2">
              <Badge kind={ok ? 'good' : 'bad'}>{ok ? t.tools.passed : t.common.failed}</Badge>
              <span>{name}</span>
              <span className="text-soft">{duration(duration_ms)}</span>
            </p>
            {failures.map((failure) => (
              <p key={failure} className="mt-1 text-bad">
                {failure}
              </p>
            ))}
          </li>
        ))}
      </ul>
    </section>
  )
}

/** One tool: description, settings, calls and the switch. */
export function ToolScreen({ name }: { name: string }) {
  const { data: tool, error, refresh, put } = useAnswer('tools.show', { name })
  const [tab, setTab] = useQueryValue('tab', 'about')
  const back = { href: toolsPath, label: t.common.tools }
  if (!tool) {
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
  const tabs = tabsOf(tool, refresh)
  return (
    <Screen title={tool.name} intro={tool.description} back={back} actions={<ToolSwitch tool={tool} onChange={put} />}>
      <div className="mb-4 space-y-3">
        <ToolStatus tool={tool} />
        {tool.problem && <Notice kind={tool.status === 'error' ? 'error' : 'warning'}>{tool.problem}</Notice>}
      </div>
      <Tabs
        label={tool.name}
        value={tabs.some((one) => one.name === tab) ? tab : 'about'}
        onChange={setTab}
        tabs={tabs}
      />
    </Screen>
  )
}

function tabsOf(tool: ToolReply, onChange: () => void): Tab[] {
  const isFolder = tool.kind === 'contract'
  const shown: (Tab | false)[] = [
    { name: 'about', label: t.common.about, content: <AboutTool tool={tool} /> },
    tool.configuration.length > 0 && {
      name: 'settings',
      label: t.common.settings,
      content: <ToolSettingsForm tool={tool} onChange={onChange} />,
    },
    isFolder && { name: 'run', label: t.tools.tryIt, content: <ToolRun tool={tool} /> },
    isFolder && { name: 'tests', label: t.tools.tests, content: <ToolTests name={tool.name} /> },
    { name: 'calls', label: t.common.calls, content: <CallList of="tools.calls" name={tool.name} /> },
    isFolder &&
      tool.trigger !== 'on_demand' && {
        name: 'runs',
        label: t.tools.runs,
        content: <ToolRuns tool={tool} />,
      },
  ]
  return shown.filter((one) => one !== false)
}
