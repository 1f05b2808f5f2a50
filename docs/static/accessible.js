// What Furo leaves out: levels of the menu's headings, a name of the menu, and code that scrolls by keyboard.
for (const caption of document.querySelectorAll(".caption[role=heading]")) caption.ariaLevel = "2";
document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "Pages");
for (const box of document.querySelectorAll("pre, .table-wrapper, .output_subarea"))
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
