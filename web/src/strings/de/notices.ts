import { plural } from '../format.ts'

const headline = {
  approval: 'Freigabe nötig',
  question: 'Familiar hat eine Frage',
  build_ready: 'Neues Tool bereit',
  build_failed: 'Build fehlgeschlagen',
  repair_ready: 'Tool repariert',
  repair_failed: 'Reparatur fehlgeschlagen',
  schedule: 'Geplante Aufgabe fertig',
  reply: 'Neue Antwort',
  reply_failed: 'Antwort fehlgeschlagen',
}

const toasts: Partial<Record<keyof typeof headline, (name: string) => string>> = {
  build_ready: (name) => `„${name}“ ist einsatzbereit`,
  repair_ready: (name) => `„${name}“ ist repariert`,
  build_failed: (name) => `Der Build von „${name}“ ist fehlgeschlagen. Details stehen im Build-Protokoll.`,
  repair_failed: (name) => `Die Reparatur von „${name}“ ist fehlgeschlagen. Details stehen im Build-Protokoll.`,
}

export const offlineStrings = {
  notRunning: 'Familiar läuft nicht',
  startIt: 'Starte es in einem Terminal auf seinem Rechner oder prüfe das Netzwerk dieses Geräts:',
  opensByItself: 'Diese Seite öffnet sich von selbst, sobald Familiar antwortet.',
  waitingMessages: 'Nachrichten, die dann gesendet werden',
  onlyFiles: 'Dateien ohne Text',
  cannotReach:
    'Familiar ist nicht erreichbar. Nachrichten werden hier aufbewahrt und gesendet, sobald es wieder da ist.',
  waitingForConnection: 'Wartet auf Verbindung',
  notSent: (reason: string) => `Nicht gesendet: ${reason}`,
  alreadySent: 'Die Nachricht wurde bereits gesendet.',
}

export const noticeStrings = {
  title: 'Mitteilungen',
  unread: (count: number) => plural(count, { other: 'Mitteilungen (# ungelesen)' }),
  headline,
  toast: (kind: keyof typeof headline, name: string) => toasts[kind]?.(name) ?? `${headline[kind] ?? kind}: ${name}`,
  show: 'Anzeigen',
  none: 'Nichts Neues',
  noneHint: 'Freigaben, Fragen, fertige Builds, geplante Aufgaben und ungelesene Antworten erscheinen hier.',
  turnOn: 'Mitteilungen einschalten',
  markAllRead: 'Alle als gelesen markieren',
  settings: 'Einstellungen der Mitteilungen',
  systemNotifications: 'Mitteilungen auf diesem Gerät',
  stateHint: {
    absent:
      'Dieser Browser zeigt hier keine Mitteilungen an. Sie brauchen HTTPS oder die Seite auf dem Rechner, auf dem Familiar läuft.',
    blocked:
      'Dieser Browser blockiert Mitteilungen von Familiar. Erlaube sie in den Website-Einstellungen des Browsers.',
    off: 'Werden angezeigt, während Familiar im Hintergrund ist.',
    on: 'Werden angezeigt, während Familiar im Hintergrund ist.',
  },
  announceThese: 'Mich benachrichtigen über',
  groups: {
    approvals: 'Freigaben',
    questions: 'Fragen',
    builds: 'Fertige Builds',
    schedules: 'Geplante Aufgaben',
    replies: 'Antworten',
  },
  bellShowsAll: 'Die Liste hinter der Glocke zeigt alle an.',
}
