import { join, relative } from 'node:path'
import type { AssetStore } from '../support/asset-store.ts'

/**
 * Every escape that leads to files of the suite itself, and names with a meaning elsewhere. With a control switched off
 * they are written: nothing important to the machine may be among them (see `systemTricks`).
 */
export function ownTricks({ workspace, outside, home, base, shared }: AssetStore): string[] {
  const secret = join(outside, 'secret.md')
  const climbs = [
    '../../outside/secret.md',
    '../familiar.toml',
    '../key',
    '../../familiar.db',
    '../../outside/folder/inner.md',
  ]
  const inner = climbs.flatMap((climb) => [
    ...[climb, `./${climb}`, `notes/../${climb}`, `notes/./../${climb}`, `nothing/../${climb}`, `inside/../${climb}`],
    ...[`notes/trip.md/../../${climb}`, `${workspace}/${climb}`, `//${workspace}//${climb}`],
    ...[`${workspace}/notes/../${climb}`, climb.replaceAll('/', '//'), climb.replaceAll('/', '/./')],
    ...[`${climb}/`, `${climb}/.`, ` ${climb}`, `${climb} `],
  ])
  const encoded = climbs.flatMap((climb) => [
    ...['%2e%2e%2f', '%252e%252e%252f', '..%c0%af', '..%00/', '..\\/'].map((up) => climb.replaceAll('../', up)),
    ...['%2f', '\\', '\u2215', '\uff0f'].map((slash) => climb.replaceAll('/', slash)),
    ...['%2e', '\uff0e'].map((dot) => climb.replaceAll('.', dot)),
    ...['\u2025', '.\u200b.', '.\u0000.'].map((dots) => climb.replaceAll('..', dots)),
    ...[`${climb}\u0000.md`, `\u202e${climb}`, `\ufeff${climb}`, `${climb}\n`, `\ud800${climb}`],
  ])
  const links = [
    ...['link.md', 'relative-link.md', 'link-to-link.md', 'hard.md', 'loop-a', 'dangling.md', 'config-link'],
    ...['out/secret.md', 'out/folder/inner.md', 'out', 'out/', 'up/outside/secret.md', 'up/home/key', 'dangling/x.md'],
    ...['loop-a/x.md', 'inside/../link.md', 'notes/../out/secret.md', 'inside/../out/folder/../secret.md'],
    ...['out/../outside/secret.md', 'up/../home/familiar.toml', 'out/./folder/./inner.md', `root${secret}`],
    ...['OUT/secret.md', 'LINK.MD', 'pipe', 'zero'],
  ]
  const beside = [
    ...[secret, outside, base, home, join(home, 'key'), join(home, 'familiar.toml'), join(base, 'familiar.db')],
    ...[`${workspace}-evil/x.md`, `${workspace}x`, `${workspace}/../workspace-evil`, `${workspace}\\..\\..\\outside`],
    ...[`${shared}/../outside/secret.md`, '../workspace/../key', `../../${relative(base, workspace)}/../key`],
    ...['..', '../', '../..', '.../../key', '....//key', '', ' ', '.'],
  ]
  const elsewhere = [
    ...[`file://${secret}`, `FILE://${secret}`, `file://localhost${secret}`, `file:${secret}`, `jar:file://${secret}`],
    ...['familiar:///../../key', 'familiar:///blocks/../../../key', 'familiar:///x/../..', 'ikigai://../key'],
    ...['familiar://%2fetc%2fx', 'http://127.0.0.1/x', 'data:text/plain,x', `php://filter/resource=${secret}`],
    ...['~', '~/', '~/x', '~root/x', '$HOME/x', `$${'{HOME}'}/x`, '`id`', '$(id)', '| id', 'secret.md::$DATA'],
    ...['\\\\server\\share', '\\\\?\\C:\\x', 'C:\\Windows\\win.ini', 'C:/x/../../..', 'CON', 'NUL', 'aux.md'],
    ...[`${'a/'.repeat(2_500)}x`, 'n'.repeat(300)],
  ]
  return [...new Set([...inner, ...encoded, ...links, ...beside, ...elsewhere])]
}

/** Files of the machine. Only for reading and listing: an earlier suite wrote to them with its control switched off. */
export function systemTricks({ workspace }: AssetStore): string[] {
  return [
    ...[1, 2, 5, 12, 40].map((count) => `${'../'.repeat(count)}etc/passwd`),
    ...['/etc/passwd', '/etc/shadow', '/proc/self/environ', '/proc/self/mem', '/proc/self/maps', '/proc/1/environ'],
    ...['/proc/self/root/etc/passwd', '/proc/self/cwd/package.json', '/proc/thread-self/environ', '/sys/kernel/notes'],
    ...[
      '/root/.ssh/id_rsa',
      '/var/log/syslog',
      '/run/secrets',
      '/',
      '//',
      '/.',
      '/..',
      '//etc//passwd',
      '/./etc/passwd',
    ],
    ...['/dev/zero', '/dev/null', '/dev/tty', '/dev/stdin', '/dev/fd/0', '/dev/random', 'file:///etc/passwd'],
    ...['root/etc/passwd', 'proc-root/etc/passwd', 'cwd/package.json', `${'../'.repeat(2_000)}x`],
    ...[
      workspace.toUpperCase(),
      `${workspace.toUpperCase()}/../outside/secret.md`,
      '~/.ssh/id_rsa',
      '~root/.ssh/id_rsa',
    ],
    ...[3, 4, 5, 6, 7, 8, 9, 10, 20, 21].map((number) => `/proc/self/fd/${number}`),
  ]
}
