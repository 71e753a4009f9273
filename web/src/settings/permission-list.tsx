import type { PermissionReply } from '../../../src/protocol/permissions.ts'
import { call, useAnswer } from '../api/call.ts'
import { Badge, Button } from '../components/controls.tsx'
import { Empty, Failure, useToasts } from '../components/feedback.tsx'
import { Section, When } from '../components/layout.tsx'
import { switchTo, useIsSwitchedOn } from '../memory/private/private-switch.tsx'
import { useWho } from '../shell/account.tsx'
import { Link } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'

/** Everything that needs no question, with a button to revoke it where the user gave it. */
export function PermissionList() {
  const toasts = useToasts()
  const { name } = useWho()
  const { data, error, refresh } = useAnswer('permissions.list', {})
  const usesPrivateNotes = useIsSwitchedOn(name)

  async function revoke(id: string): Promise<void> {
    await call('permissions.revoke', { id }).then(() => toasts.done(t.grants.revoked), toasts.failed)
    refresh()
  }

  return (
    <Section title={t.grants.title}>
      <p className="mb-3 max-w-2xl text-soft">{t.grants.help}</p>
      {error && <Failure error={error} onRetry={refresh} />}
      {data?.permissions.length === 0 && !usesPrivateNotes && <Empty title={t.grants.none}>{t.grants.noneHelp}</Empty>}
      {data && (data.permissions.length > 0 || usesPrivateNotes) && (
        <ul className="divide-y divide-line rounded-xl border border-line bg-raised">
          {usesPrivateNotes && (
            <PrivateNotesRow
              onRevoke={() => {
                switchTo(name, false)
                toasts.done(t.grants.revoked)
              }}
            />
          )}
          {data.permissions.map((given, at) => (
            <PermissionRow key={given.id ?? `derived-${at}`} given={given} onRevoke={(id) => void revoke(id)} />
          ))}
        </ul>
      )}
    </Section>
  )
}

/** The consent for the notes in this browser, which the daemon does not know. */
function PrivateNotesRow({ onRevoke }: { onRevoke(): void }) {
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5">
      <span className="min-w-0 flex-1">
        <Link href="/private-memory" className="block break-words font-bold underline underline-offset-2">
          {t.privateNotes.permission}
        </Link>
        <span className="block text-sm text-soft">{t.privateNotes.permissionDetail}</span>
      </span>
      <Button size="small" aria-label={t.grants.revokeNamed(t.privateNotes.permission)} onClick={onRevoke}>
        {t.grants.revoke}
      </Button>
    </li>
  )
}

function PermissionRow({ given, onRevoke }: { given: PermissionReply; onRevoke(id: string): void }) {
  const { id, tool, effect, destination, session_id, source, given_at, expires_at } = given
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5">
      <span className="min-w-0 flex-1">
        <span className="block break-words">
          <b>{tool ?? t.grants.everyTool}</b> → {destination}
        </span>
        <span className="block text-sm text-soft">
          {t.grants.effects[effect]}
          {session_id !== null && ` · ${t.grants.oneConversation}`}
          {given_at !== null && (
            <>
              {' · '}
              <When at={given_at} />
            </>
          )}
          {expires_at !== null && (
            <>
              {` · ${t.grants.until} `}
              <When at={expires_at} />
            </>
          )}
        </span>
      </span>
      {id === null ? (
        <Badge kind="plain">{source === 'config' ? t.grants.fromConfig : t.grants.fromTool}</Badge>
      ) : (
        <Button size="small" aria-label={t.grants.revokeOf(tool ?? '', destination)} onClick={() => onRevoke(id)}>
          {t.grants.revoke}
        </Button>
      )}
    </li>
  )
}
