import { plural } from '../format.ts'

export const findStrings = {
  kinds: {
    conversation: 'Conversations',
    message: 'Dans les conversations',
    memory: 'Mémoire',
    note: 'Notes',
    file: 'Fichiers',
    tool: 'Outils',
    schedule: 'Planifications',
    setting: 'Paramètres',
  },
  you: 'Vous',
  searching: 'Recherche…',
  insertMention: 'Mentionner dans un message',
  fileCut: 'Seul le début est affiché.',
}

export const organizeStrings = {
  folders: 'Dossiers',
  newFolder: 'Nouveau dossier',
  folderName: 'Nom du dossier',
  renameFolder: 'Renommer le dossier',
  removeFolder: 'Supprimer le dossier',
  folderRemoved: (name: string) => `${name} a été supprimé. Ses conversations sont conservées.`,
  actionsOfFolder: (name: string) => `Actions pour le dossier ${name}`,
  emptyFolder: 'Glissez des conversations ici, ou utilisez « Déplacer vers un dossier ».',
  dropToRemove: 'Déposez ici pour sortir du dossier',
  moveToFolder: 'Déplacer vers un dossier',
  noFolder: 'Aucun dossier',
  moved: (name: string) => `Déplacé vers ${name}`,
  movedOut: 'Sorti du dossier',
  actionsOf: (title: string) => `Actions pour ${title}`,
  select: 'Sélectionner',
  selected: (count: number) => plural(count, { one: '# sélectionnée', other: '# sélectionnées' }),
  selectNamed: (title: string) => `Sélectionner ${title}`,
  archive: 'Archiver',
  unarchive: 'Désarchiver',
  archived: (count: number) => plural(count, { one: 'Conversation archivée', other: '# conversations archivées' }),
  unarchived: 'Désarchivage effectué',
  delete: 'Supprimer',
  deleted: (count: number) => plural(count, { one: 'Conversation supprimée', other: '# conversations supprimées' }),
  restored: 'Restauration effectuée',
  restore: 'Restaurer',
  recentlyDeleted: 'Supprimées récemment',
  deletedHelp: 'Les conversations supprimées sont effacées définitivement après 30 jours.',
  nothingDeleted: 'Aucune conversation supprimée',
  export: 'Exporter',
  exportTitle: (count: number) => plural(count, { one: 'Exporter la conversation', other: 'Exporter # conversations' }),
  formats: {
    md: 'Markdown',
    json: 'JSON',
    html: 'Page web (HTML), à partager',
  },
  contains: (messages: number, files: number) =>
    `Le fichier contient ${plural(messages, { one: '# message', other: '# messages' })}${
      files === 0 ? '' : ` et ${plural(files, { one: 'le nom d’un fichier', other: 'les noms de # fichiers' })}`
    }.`,
  containsNot: 'Les réflexions, les sorties d’outils et les souvenirs rappelés n’y figurent pas.',
  htmlHint:
    'Les images jusqu’à 1 Mo sont incluses. La page n’exécute aucun script et ne charge rien. Toute personne qui a le fichier peut le lire.',
  counting: 'Comptage des messages…',
  download: 'Télécharger',
}
