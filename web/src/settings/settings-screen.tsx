import { type ReactNode, useState } from 'react'
import type { Setting } from '../../../src/protocol/status.ts'
import { call, useAnswer } from '../api/call.ts'
import { Badge, Button, CommandLine } from '../components/controls.tsx'
import { Empty, Failure, Notice, useToasts } from '../components/feedback.tsx'
import { type Choice, Dialog, SelectField, TextField } from '../components/forms.tsx'
import { Rich, Screen, Section, When } from '../components/layout.tsx'
import { NotificationSettings } from '../notices/inbox.tsx'
import { KeyList } from '../palette/key-list.tsx'
import { setUsesLetterKeys, useUsesLetterKeys } from '../palette/shortcuts.ts'
import { signOut, useWho } from '../shell/account.tsx'
import { usePlace, useQueryValue } from '../shell/router.tsx'
import { chooseTheme, type Theme, useTheme } from '../shell/theme.tsx'
import { formatList, formatNumber } from '../strings/format.ts'
import { languageFor, languages } from '../strings/locale.ts'
import { chooseLanguage, storedLanguage } from '../strings/start-language.ts'
import { t } from '../strings/strings.ts'
import { VoiceSettingsForm } from '../voice/voice-settings-form.tsx'
import { AgentNameSetting, MemoryOptionsTab, PermissionsTab, RecognitionSetting, TelegramTab } from './option-tabs.tsx'
import { OutboxTab } from './outbox-tab.tsx'

const browsers: [pattern: RegExp, name: string][] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:HeadlessChrome|Chromium|Chrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const systems: [pattern: RegExp, name: string][] = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/Windows/, 'Windows'],
  [/Linux|X11/, 'Linux'],
]

/** The name of a browser in two words; an unknown one as it is. */
export function browserWords(agent: string): string {
  const find = (known: typeof browsers) => known.find(([pattern]) => pattern.test(agent))?.[1]
  const [browser, system] = [find(browsers), find(systems)]
  if (browser === undefined && system === undefined) return agent || t.settings.browser
  return system === undefined
    ? (browser ?? t.settings.browser)
    : t.settings.browserOn(browser ?? t.settings.browser, system)
}

/** The user's own browsers; each can be signed out from here, or all at once. */
function BrowsersTab() {
  const toasts = useToasts()
  const { data, error, refresh } = useAnswer('signIn.browsers', {})
  const [isAsking, setIsAsking] = useState(false)

  async function end(browser: string): Promise<void> {
    try {
      const { ended } = await call('signIn.signOut', { browser })
      toasts.done(ended > 0 ? t.settings.signedOut : t.settings.alreadySignedOut)
    } catch (cause) {
      toasts.failed(cause)
    }
    refresh()
  }

  return (
    <>
      <p className="mb-4 max-w-2xl text-soft">{t.settings.browsersSignedAccountBrowser}</p>
      {error && <Failure error={error} onRetry={refresh} />}
      <ul className="mb-4 divide-y divide-line rounded-xl border border-line bg-raised">
        {data?.browsers.map(({ id, name, seen_at, created_at, is_this }) => (
          <li key={id} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5">
            <span className="min-w-0 flex-1">
              <span className="flex flex-wrap items-center gap-2 font-medium" title={name}>
                {browserWords(name)}
                {is_this && <Badge kind="good">{t.settings.thisBrowser}</Badge>}
              </span>
              <span className="block text-sm text-soft">
                {t.settings.lastUsed} <When at={seen_at} />
                {t.settings.signedIn} <When at={created_at} />
              </span>
            </span>
            <Button size="small" onClick={() => void (is_this ? signOut() : end(id)).catch(toasts.failed)}>
              {t.settings.signOut}
            </Button>
          </li>
        ))}
      </ul>
      <Button kind="danger" onClick={() => setIsAsking(true)}>
        {t.settings.signOutEverywhere}
      </Button>
      <Dialog
        isOpen={isAsking}
        onClose={() => setIsAsking(false)}
        title={t.settings.signOutEverywhereQuestion}
        description={t.settings.browserSignedOutToo}
      >
        <div className="flex justify-end gap-2">
          <Button onClick={() => setIsAsking(false)}>{t.common.cancel}</Button>
          <Button kind="danger" onClick={() => void signOut({ everywhere: true }).catch(toasts.failed)}>
            {t.settings.signOutEverywhere}
          </Button>
        </div>
      </Dialog>
    </>
  )
}

interface SettingGroup {
  name: string
  title: string
  about: string | undefined
  settings: Setting[]
}

const known: Readonly<Record<string, [title: string, about: string]>> = {
  agent: [t.settings.agent, t.settings.nameLimitsTurnFiles],
  routes: [t.settings.routing, t.settings.modelUsedTaskSee],
  providers: [t.settings.providers, t.settings.filesProvidersD],
  budget: [t.settings.budget, t.settings.spendingLimitsDollarsCalls],
  sessions: [t.common.conversations, t.settings.parallelTurnsHowLong],
  compaction: [t.settings.longConversations, t.settings.olderMessagesSummarized],
  memory: [t.common.memory, t.settings.automaticLearningFadingSemantic],
  tools: [t.common.tools, t.settings.availableTools],
  capabilities: [t.common.builtTools, t.settings.howToolsBuiltRepaired],
  sandbox: [t.settings.sandbox, t.settings.whereCodeRuns],
  policy: [t.settings.approvals, t.settings.callsNeedNoApproval],
  subagents: [t.common.subAgents, t.settings.backgroundWorkConversation],
  client_tools: [t.settings.clientTools, t.settings.howLongWaitTool],
  assets: [t.settings.filesAndNotes, t.settings.readableFoldersSizeLimit],
  skills: [t.common.skills, t.settings.additionalFoldersSkills],
  mcp: [t.settings.mcpServers, t.settings.programsAddressesProvideTools],
  http: [t.settings.server, t.settings.addressPageWhoMay],
  egress: [t.settings.localNetwork, t.settings.localHostsMayCalled],
  telegram: [t.settings.telegram, t.settings.whoMaySendMessages],
  callback: [t.settings.callback, t.settings.addressCalledAfterEvery],
  voice: [t.settings.voice, t.settings.speechRecognition],
  plans: [t.settings.userPlans, t.settings.whatUsersMayUse],
  log: [t.settings.log, t.settings.logLevel],
}

/** By configuration table. The most used ones come first, unknown ones last. */
function groupSettings(settings: readonly Setting[]): SettingGroup[] {
  const order = Object.keys(known)
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length)
  return [...Map.groupBy(settings, ({ key }) => key.split('.')[0] ?? key)]
    .sort(([one], [other]) => place(one) - place(other))
    .map(([name, members]) => ({ name, title: known[name]?.[0] ?? name, about: known[name]?.[1], settings: members }))
}

/** A value of the configuration as a person reads it; null is one that is not shown. */
export function settingWords(json: string | null): string {
  if (json === null) return t.settings.hidden
  const value: unknown = JSON.parse(json)
  if (value === null) return t.common.none
  if (typeof value === 'boolean') return value ? t.common.yes : t.common.no
  if (Array.isArray(value)) return value.length === 0 ? t.common.none : formatList(value.map(String))
  if (typeof value === 'object') return t.common.none
  return typeof value === 'number' ? numberWords(value) : String(value)
}

function numberWords(value: number): string {
  return Number.isInteger(value)
    ? formatNumber(value, { useGrouping: value >= 10_000 })
    : formatNumber(value, { maximumSignificantDigits: 3 })
}

function SettingRow({ setting }: { setting: Setting }) {
  const { key, value, origin, place } = setting
  return (
    <li className="grid items-center gap-x-4 gap-y-0.5 px-4 py-2 text-sm sm:grid-cols-[minmax(0,1fr)_minmax(0,1fr)_10rem]">
      <code className="font-mono text-[0.8125rem]">{key}</code>
      <span className={value === null ? 'text-soft' : undefined}>{settingWords(value)}</span>
      <span className="sm:text-end">
        {origin === 'default' ? <Badge>{t.settings.default}</Badge> : <Badge kind="good">{place}</Badge>}
      </span>
    </li>
  )
}

/** Everything that is configured, to be read: only some of it can be changed in the page (SEC-4a). */
function ConfigurationTab() {
  const { data, error, refresh } = useAnswer('home.settings', {})
  const [query, setQuery] = useQueryValue('setting')
  const [onlySet, setOnlySet] = useState(false)
  if (error) return <Failure error={error} onRetry={refresh} />
  if (!data) return <p className="breathing text-soft">{t.common.loading}</p>

  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const found = data.settings.filter(
    ({ key, value, origin }) =>
      (!onlySet || origin !== 'default') && words.every((word) => `${key} ${value ?? ''}`.toLowerCase().includes(word)),
  )
  return (
    <>
      <p className="mb-4 max-w-2xl text-soft">
        <Rich text={t.settings.editHelp(data.home)} />
      </p>
      <div className="mb-5 space-y-2">
        {data.problems.length > 0 && (
          <Notice kind="error">
            {t.settings.configurationFilesProblemsPrevious}
            <ul className="mt-1 list-disc ps-5">
              {data.problems.map((problem) => (
                <li key={problem}>{problem}</li>
              ))}
            </ul>
          </Notice>
        )}
        {data.problems.length === 0 && !data.is_current && (
          <Notice kind="warning">{t.settings.filesChangedBeingRead}</Notice>
        )}
        {data.restart_needed.length > 0 && (
          <Notice kind="warning">{t.settings.restartFamiliarApply(formatList(data.restart_needed))}</Notice>
        )}
      </div>
      <div className="mb-5 flex flex-wrap items-end gap-x-5 gap-y-2">
        <TextField
          className="w-full sm:w-72"
          label={t.settings.searchSettings}
          type="search"
          value={query}
          onChange={(event) => setQuery(event.target.value)}
        />
        <label className="flex min-h-9 items-center gap-2 text-sm">
          <input type="checkbox" checked={onlySet} onChange={(event) => setOnlySet(event.target.checked)} />
          {t.settings.onlyChangedSettings}
        </label>
      </div>
      {found.length === 0 && <Empty title={t.common.noResults} />}
      {groupSettings(found).map(({ name, title, about, settings }) => (
        <Section key={name} title={title}>
          {about && <p className="-mt-1 mb-2 text-sm text-soft">{about}</p>}
          <ul className="divide-y divide-line rounded-xl border border-line bg-raised">
            {settings.map((setting) => (
              <SettingRow key={setting.key} setting={setting} />
            ))}
          </ul>
        </Section>
      ))}
    </>
  )
}

/** Each language has its own name, so that it is found by those who read no other. */
function languageChoices(): Choice[] {
  const stored = storedLanguage()
  return [
    { value: '', label: t.settings.languageOfBrowser(languages[languageFor(navigator.languages)].name) },
    ...Object.entries(languages).map(([value, { name }]) => ({ value, label: name })),
    ...(stored === 'pseudo' ? [{ value: stored, label: stored }] : []),
  ]
}

/** The display preferences of this browser. */
function PreferencesTab() {
  const theme = useTheme()
  const usesLetters = useUsesLetterKeys()
  const { name, is_owner, version } = useWho()
  return (
    <>
      {is_owner && (
        <Section title={t.settings.agent}>
          <AgentNameSetting />
        </Section>
      )}
      <Section title={t.settings.appearance}>
        <SelectField
          className="mb-4 max-w-xs"
          label={t.settings.language}
          choices={languageChoices()}
          value={storedLanguage() ?? ''}
          onChange={chooseLanguage}
        />
        <SelectField
          className="max-w-xs"
          label={t.settings.theme}
          choices={[
            { value: 'system', label: t.settings.system },
            { value: 'light', label: t.settings.light },
            { value: 'dark', label: t.settings.dark },
          ]}
          value={theme}
          onChange={(value) => chooseTheme(value as Theme)}
        />
      </Section>
      {/* A phone has no keys to press. */}
      <div className="[@media(pointer:coarse)]:hidden">
        <Section title={t.settings.keyboard}>
          <label className="mb-3 flex min-h-9 items-center gap-2">
            <input
              type="checkbox"
              checked={usesLetters}
              onChange={(event) => setUsesLetterKeys(event.target.checked)}
            />
            {t.settings.singleLetterShortcutsNo}
          </label>
          <KeyList />
        </Section>
      </div>
      <Section title={t.common.about}>
        <p className="text-soft">
          {t.settings.signedInAs(name, is_owner)} {t.settings.versionOf(version)}
        </p>
        {is_owner && (
          <div className="mt-3 max-w-md">
            <p className="mb-1 text-sm text-soft">{t.settings.signAnotherBrowserPhone}</p>
            <CommandLine command="familiar sign-in" />
          </div>
        )}
      </Section>
    </>
  )
}

/** `/settings`, and `/settings/<section>`; an unknown section shows the first one. */
export function SettingsScreen() {
  const { path } = usePlace()
  const { is_owner } = useWho()
  const sections: Record<string, [title: string, content: ReactNode, intro?: string]> = {
    general: [t.common.settings, <PreferencesTab key="general" />],
    voice: [
      t.settings.voice,
      <div key="voice" className="max-w-md space-y-6">
        {is_owner && <RecognitionSetting />}
        <VoiceSettingsForm />
      </div>,
    ],
    notifications: [t.notices.title, <NotificationSettings key="notifications" />],
    browsers: [t.settings.devices, <BrowsersTab key="browsers" />],
    sent: [t.settings.outgoingMessages, <OutboxTab key="sent" />],
    ...(is_owner && {
      permissions: [t.options.permissions, <PermissionsTab key="permissions" />, t.options.permissionsIntro],
      memory: [t.options.memoryOptions, <MemoryOptionsTab key="memory" />, t.options.memoryIntro],
      telegram: [t.options.telegram, <TelegramTab key="telegram" />],
      configuration: [t.settings.configuration, <ConfigurationTab key="configuration" />],
    }),
  }
  const chosen = path.split('/')[2] ?? ''
  const [title, content, intro] = (Object.hasOwn(sections, chosen) && sections[chosen]) || sections.general || []
  return (
    <Screen title={title ?? t.common.settings} intro={intro}>
      {content}
    </Screen>
  )
}
