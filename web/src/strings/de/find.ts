import { plural } from '../format.ts'

export const findStrings = {
  kinds: {
    conversation: 'Unterhaltungen',
    message: 'In Unterhaltungen',
    memory: 'Gedächtnis',
    note: 'Notizen',
    file: 'Dateien',
    tool: 'Tools',
    schedule: 'Zeitpläne',
    setting: 'Einstellungen',
  },
  you: 'Du',
  searching: 'Suche läuft …',
  insertMention: 'In einer Nachricht erwähnen',
  fileCut: 'Nur der Anfang wird angezeigt.',
}

export const organizeStrings = {
  folders: 'Ordner',
  newFolder: 'Neuer Ordner',
  folderName: 'Name des Ordners',
  renameFolder: 'Ordner umbenennen',
  removeFolder: 'Ordner entfernen',
  folderRemoved: (name: string) => `${name} wurde entfernt. Die Unterhaltungen darin bleiben erhalten.`,
  actionsOfFolder: (name: string) => `Aktionen für den Ordner ${name}`,
  emptyFolder: 'Zieh Unterhaltungen hierher oder nutze „In Ordner verschieben“.',
  dropToRemove: 'Hier ablegen, um aus dem Ordner zu entfernen',
  moveToFolder: 'In Ordner verschieben',
  noFolder: 'Kein Ordner',
  moved: (name: string) => `In „${name}“ verschoben`,
  movedOut: 'Aus dem Ordner entfernt',
  actionsOf: (title: string) => `Aktionen für ${title}`,
  select: 'Auswählen',
  selected: (count: number) => plural(count, { other: '# ausgewählt' }),
  selectNamed: (title: string) => `${title} auswählen`,
  archive: 'Archivieren',
  unarchive: 'Aus dem Archiv holen',
  archived: (count: number) => plural(count, { one: 'Archiviert', other: '# Unterhaltungen archiviert' }),
  unarchived: 'Aus dem Archiv geholt',
  delete: 'Löschen',
  deleted: (count: number) => plural(count, { one: 'Unterhaltung gelöscht', other: '# Unterhaltungen gelöscht' }),
  restored: 'Wiederhergestellt',
  restore: 'Wiederherstellen',
  recentlyDeleted: 'Zuletzt gelöscht',
  deletedHelp: 'Gelöschte Unterhaltungen werden nach 30 Tagen endgültig entfernt.',
  nothingDeleted: 'Keine gelöschten Unterhaltungen',
  export: 'Exportieren',
  exportTitle: (count: number) =>
    plural(count, { one: 'Unterhaltung exportieren', other: '# Unterhaltungen exportieren' }),
  formats: {
    md: 'Markdown',
    json: 'JSON',
    html: 'Webseite (HTML), zum Teilen',
  },
  contains: (messages: number, files: number) =>
    `Die Datei enthält ${plural(messages, { one: '# Nachricht', other: '# Nachrichten' })}${
      files === 0 ? '' : ` und ${plural(files, { one: 'den Namen einer Datei', other: 'die Namen von # Dateien' })}`
    }.`,
  containsNot: 'Überlegungen, Ausgaben von Tools und abgerufene Erinnerungen sind nicht enthalten.',
  htmlHint:
    'Bilder bis 1 MB sind enthalten. Die Seite führt keine Skripte aus und lädt nichts nach. Wer die Datei hat, kann sie lesen.',
  counting: 'Nachrichten werden gezählt …',
  download: 'Herunterladen',
}
